package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// process is what is known of a process, read when it is first asked for.
type process struct {
	stat  procfs.Stat
	alive bool
	exe   string
	shown *Process // for answers
}

// ticksPerSecond is what user space counts start times in on all of Linux.
const ticksPerSecond = 100

// bootTime reads when the machine started, the zero time if it does not say.
func bootTime(proc procfs.FS) time.Time {
	text, err := proc.System("stat")
	if err != nil {
		return time.Time{}
	}
	_, after, _ := strings.Cut(text, "\nbtime ")
	line, _, _ := strings.Cut(after, "\n")
	seconds, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// process returns a process, also one that is gone.
func (h *host) process(pid int) *process {
	if p := h.known[pid]; p != nil {
		return p
	}
	p := &process{}
	var err error
	if p.stat, err = h.proc.Stat(pid); err == nil {
		p.alive = !p.stat.Ended()
	}
	p.stat.PID = pid
	h.known[pid] = p
	return p
}

// started is when a process began, the zero time if that is not known.
func (h *host) started(p *process) time.Time {
	if h.boot.IsZero() || p.stat.StartTicks == 0 {
		return time.Time{}
	}
	return h.boot.Add(time.Duration(p.stat.StartTicks) * (time.Second / ticksPerSecond))
}

// show describes a process for an answer. What needs its memory (its command
// line) is read under the time limit: it may hang.
func (h *host) show(pid int, fds ...int) Process {
	p := h.process(pid)
	if p.shown == nil {
		shown, answered := answer(h, func() *Process { return h.describe(p) })
		if !answered {
			shown = &Process{PID: pid, Command: "[" + solehold.Printable(p.stat.Comm) + "]"}
		}
		p.shown = shown
	}
	shown := *p.shown
	shown.FDs = fds
	return shown
}

// describe reads; it changes nothing of the host, since it may be given up.
func (h *host) describe(p *process) *Process {
	pid := p.stat.PID
	shown := &Process{PID: pid}
	if p.stat.State != 0 {
		shown.State = string(p.stat.State)
	}
	if !p.alive {
		return shown
	}
	shown.Started = h.started(p).UTC()
	command, _ := h.proc.Cmdline(pid)
	if shown.Command = solehold.CommandLine(command); shown.Command == "" {
		shown.Command = "[" + solehold.Printable(p.stat.Comm) + "]"
	}
	if st, err := h.proc.Status(pid); err == nil {
		shown.UID = &st.EUID
	}
	from := procid.OriginOf(h.proc, pid)
	shown.Unit, shown.Container = solehold.Printable(from.Unit), from.Container
	return shown
}

// showAll describes several processes.
func (h *host) showAll(pids []int) []Process {
	all := make([]Process, 0, len(pids))
	for _, pid := range pids {
		all = append(all, h.show(pid))
	}
	return all
}

// name is a process in half a line.
func (h *host) name(pid int) string {
	p := h.show(pid)
	if p.Command == "" {
		return fmt.Sprintf("pid %d", pid)
	}
	text := fmt.Sprintf("pid %d (%s)", pid, p.Command)
	if p.Container != "" {
		text += " in container " + p.Container[:12]
	}
	return text
}

// ancestors are the parents of a process, nearest first, without pid 1: that
// everything descends from it makes nobody a relative.
func (h *host) ancestors(pid int) []int {
	var chain []int
	for p := h.process(pid).stat.PPID; p > 1 && len(chain) < 64 && !slices.Contains(chain, p); p = h.process(p).stat.PPID {
		chain = append(chain, p)
	}
	return chain
}

// program is the executable of a process, its name where that is not permitted.
func (h *host) program(pid int) string {
	p := h.process(pid)
	if p.exe == "" {
		p.exe, _ = h.proc.Exe(pid)
	}
	if p.exe == "" {
		p.exe = p.stat.Comm
	}
	return strings.TrimSuffix(p.exe, deletedMark)
}

// root follows the parents of a process as long as they run the same program:
// the workers of a service are one with it.
func (h *host) root(pid int) int {
	for _, p := range h.ancestors(pid) {
		if h.program(p) != h.program(pid) {
			break
		}
		pid = p
	}
	return pid
}

// families sorts processes into groups that are one service each: the workers of
// one program, and what runs below one of the others.
func (h *host) families(pids []int) [][]int {
	roots := make([]int, len(pids))
	for i, pid := range pids {
		roots[i] = h.root(pid)
	}
	for i := range roots {
		for _, above := range h.ancestors(roots[i]) {
			if j := slices.IndexFunc(roots, func(r int) bool { return r == above }); j >= 0 && !isShell(h.program(above)) {
				roots[i] = roots[j]
			}
			if j := slices.Index(pids, above); j >= 0 {
				roots[i] = roots[j]
			}
		}
	}
	var all [][]int
	var order []int
	for i, r := range roots {
		j := slices.Index(order, r)
		if j < 0 {
			order, all = append(order, r), append(all, nil)
			j = len(order) - 1
		}
		all[j] = append(all[j], pids[i])
	}
	return all
}

// isShell tells programs that start others without being one service with them.
func isShell(program string) bool {
	base := program[strings.LastIndexByte(program, '/')+1:]
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "busybox", "tmux", "screen", "sshd", "systemd", "init"}, base)
}
