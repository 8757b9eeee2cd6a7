package evidence

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// wait is where one thread stands.
type wait struct {
	pid, tid int
	state    byte
	call     string // the system call it is in
	wchan    string
	file     string   // what it waits for, where that is a file
	holders  []string // who holds that
	blockers []int
}

// waitOf finds out where a thread is.
func (s *scene) waitOf(pid, tid int, st procfs.Stat) wait {
	w := wait{pid: pid, tid: tid, state: st.State}
	if text, err := s.proc.Text(pid, fmt.Sprintf("task/%d/wchan", tid)); err == nil && text != "0" {
		w.wchan = strings.TrimSpace(text)
	}
	text, err := s.proc.Text(pid, fmt.Sprintf("task/%d/syscall", tid))
	if err != nil {
		return w
	}
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return w // "running"
	}
	number, err := strconv.Atoi(fields[0])
	if err != nil || number < 0 {
		return w
	}
	w.call = callName(runtime.GOARCH, number)
	if fd, ok := lockCall(w.call, fields[1:]); ok {
		w.file, _ = s.proc.FDTarget(pid, fd)
		w.holders, w.blockers = s.holdersOf(pid, fd)
	}
	return w
}

// lockCall tells the descriptor of a call that waits for a lock.
func lockCall(call string, args []string) (fd int, ok bool) {
	if call != "flock" && call != "fcntl" {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(args[0], "0x"), 16, 64)
	return int(n), err == nil && n < 1<<20
}

// holdersOf names who holds a lock on the file behind a descriptor, the asking
// process left out.
func (s *scene) holdersOf(pid, fd int) (names []string, pids []int) {
	info, err := s.proc.FDInfo(pid, fd)
	if err != nil {
		return nil, nil
	}
	held, gaps := s.proc.LockHolders(func(l procfs.Lock) bool { return l.Inode == info.Inode && !l.Waiting })
	for _, h := range held {
		if h.PID == pid || slices.Contains(pids, h.PID) {
			continue
		}
		pids = append(pids, h.PID)
		names = append(names, fmt.Sprintf("pid %d (%s), which is %s", h.PID, short(s.command(h.PID)), s.doing(h.PID)))
	}
	if len(names) == 0 && len(gaps) > 0 {
		names = append(names, fmt.Sprintf("a process that is not visible here (%d could not be looked into)", len(gaps)))
	}
	return names, pids
}

// doing says in a few words where a process' first thread is.
func (s *scene) doing(pid int) string {
	st, err := s.proc.Stat(pid)
	if err != nil {
		return "gone"
	}
	w := wait{state: st.State}
	if text, err := s.proc.Text(pid, "wchan"); err == nil && text != "0" {
		w.wchan = strings.TrimSpace(text)
	}
	if w.wchan != "" && st.State != 'T' {
		return "waiting in " + plain(w.wchan)
	}
	return stateName(st.State)
}

// plain gives the kernel's names the words that people know.
func plain(wchan string) string {
	for prefix, word := range map[string]string{
		"futex": "futex", "ep_poll": "epoll", "do_epoll": "epoll", "hrtimer_nanosleep": "nanosleep", "do_nanosleep": "nanosleep",
		"pipe_": "a pipe", "anon_pipe": "a pipe", "unix_": "a unix socket", "inet_csk_accept": "accept", "do_wait": "wait", "sk_wait": "a socket",
		"flock_lock": "flock", "posix_lock": "fcntl", "fcntl_setlk": "fcntl", "locks_lock": "a file lock", "do_sys_poll": "poll", "do_select": "select",
	} {
		if strings.HasPrefix(strings.TrimPrefix(wchan, "__"), prefix) {
			return word
		}
	}
	return wchan
}

// all looks at every thread of the service.
func (s *scene) all() []wait {
	var all []wait
	for _, pid := range s.r.PIDs {
		tids, err := s.proc.Threads(pid)
		if err != nil {
			continue
		}
		for _, tid := range tids[:min(len(tids), 2000)] {
			if st, err := s.proc.ThreadStat(pid, tid); err == nil {
				all = append(all, s.waitOf(pid, tid, st))
			}
		}
	}
	return all
}

// waits is the wait-for graph: who waits for which lock, held by whom.
func (s *scene) waits() (string, error) {
	var b strings.Builder
	for _, w := range s.all() {
		if w.file == "" {
			continue
		}
		fmt.Fprintf(&b, "pid %d thread %d waits in %s() for %s\n", w.pid, w.tid, w.call, w.file)
		for _, h := range w.holders {
			fmt.Fprintf(&b, "    held by %s\n", h)
		}
	}
	if b.Len() == 0 {
		return "no thread waits for a file lock\n", nil
	}
	return b.String(), nil
}

// locks lists the locks that the processes hold, with everybody who shares them,
// and the kernel's own table.
func (s *scene) locks() (string, error) {
	held, gaps := s.proc.LockHolders(func(procfs.Lock) bool { return true })
	var b strings.Builder
	for _, h := range held {
		mark := " "
		if slices.Contains(s.r.PIDs, h.PID) {
			mark = "*"
		}
		target, _ := s.proc.FDTarget(h.PID, h.FD)
		fmt.Fprintf(&b, "%s pid %d fd %d  %s %s  %s\n", mark, h.PID, h.FD, h.Lock.Type, h.Lock.Access, target)
	}
	for _, g := range gaps {
		fmt.Fprintf(&b, "not read: %v\n", g)
	}
	table, err := s.proc.System("locks")
	fmt.Fprintf(&b, "\n/proc/locks:\n%s", indent(table))
	return b.String(), err
}

// finding is the one sentence of an incident: what was seen, not what is guessed.
func (s *scene) finding(ctx context.Context, in *Incident) string {
	text, err := s.bounded(ctx, part{"finding", (*scene).sentence})
	if err != nil {
		in.Missing = append(in.Missing, "finding: "+err.Error())
		return s.subject() + "."
	}
	return text
}

func (s *scene) subject() string {
	if len(s.r.PIDs) == 0 {
		return "no process of the service is visible"
	}
	subject := fmt.Sprintf("pid %d (%s)", s.r.PIDs[0], short(s.command(s.r.PIDs[0])))
	if s.r.Silent > 0 {
		return fmt.Sprintf("%s has not answered for %ds", subject, int(s.r.Silent.Seconds()))
	}
	return subject + ": " + s.r.Reason
}

func (s *scene) sentence() (string, error) {
	all := s.all()
	subject := s.subject() + "."
	if i := slices.IndexFunc(all, func(w wait) bool { return w.file != "" }); i >= 0 {
		return subject + " " + s.lockSentence(all[i]), nil
	}
	for _, state := range []byte{'T', 't', 'D'} {
		if i := slices.IndexFunc(all, func(w wait) bool { return w.state == state }); i >= 0 {
			return subject + " " + stateSentence(all[i]), nil
		}
	}
	if dump := goroutines(s.r.Output); dump != "" {
		return subject + " " + dump, nil
	}
	return subject + " " + threadsSentence(all), nil
}

func (s *scene) lockSentence(w wait) string {
	text := fmt.Sprintf("It waits in %s() for %s", w.call, w.file)
	if w.pid != s.r.PIDs[0] {
		text = fmt.Sprintf("Its process %d (%s) waits in %s() for %s", w.pid, short(s.command(w.pid)), w.call, w.file)
	}
	if len(w.holders) == 0 {
		return text + "; no holder is visible."
	}
	return text + ", held by " + strings.Join(w.holders, " and ") + "."
}

func stateSentence(w wait) string {
	text := fmt.Sprintf("Thread %d is %s", w.tid, stateName(w.state))
	if w.pid == w.tid {
		text = fmt.Sprintf("Process %d is %s", w.pid, stateName(w.state))
	}
	if w.wchan != "" {
		text += " in " + w.wchan
	}
	return text + "."
}

// threadsSentence counts where the threads are.
func threadsSentence(all []wait) string {
	if len(all) == 0 {
		return "No thread of it could be looked at."
	}
	count := map[string]int{}
	for _, w := range all {
		where := "running"
		switch {
		case w.call != "":
			where = "in " + w.call
		case w.wchan != "":
			where = "waiting in " + plain(w.wchan)
		case w.state == 'S':
			where = "sleeping"
		}
		count[where]++
	}
	var places []string
	for where, n := range count {
		places = append(places, fmt.Sprintf("%d %s", n, where))
	}
	slices.Sort(places)
	return fmt.Sprintf("Of its %d threads: %s.", len(all), strings.Join(places, ", "))
}

func short(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}
