package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold"
)

// pidfileSize is more than a pid file has; PostgreSQL's has some lines.
const pidfileSize = 512

// slack is how much later than its pid file a process may seem to have started:
// the kernel's clock ticks and the file system's time are not the same.
const slack = 3 * time.Second

// pidfile is a pid file with its verdict.
type pidfile struct {
	path    string
	pid     int
	verdict string // right, unseen, empty, no-number, own-pid, thread, gone, zombie, reused, other-namespace
	detail  string
	sure    Confidence
}

// DeadPidfile says whether a pid file names a process that is proven dead, and how
// that is known: there is no such process, it has exited, or the number belongs to
// another program by now. What is only likely is not proven, nor is what may be in
// a place that cannot be seen from here.
func DeadPidfile(ctx context.Context, path string, o Options) (dead bool, why string) {
	h := newHost(ctx, o)
	mounts, err := h.proc.Mounts(0)
	if err != nil {
		return false, "the mounts cannot be read: " + reason(err)
	}
	h.mounts = newMountTable(mounts)
	if h.pids, err = h.proc.Pids(); err != nil {
		return false, "the processes cannot be listed: " + reason(err)
	}
	p, ok := h.pidfileAt(path)
	if !ok {
		return false, "it cannot be read as a pid file"
	}
	switch {
	case p.verdict == "zombie", p.verdict == "gone" && p.sure == Certain:
	default: // "reused" rests on clocks and names, which is enough for a finding and not for a removal
		return false, line("%s", p.detail)
	}
	if !h.first || h.hiding() != "" {
		return false, line("%s; but not every process can be seen from here", p.detail)
	}
	for _, pid := range h.pids {
		if h.elsewhere(pid) != "" && h.ownNumber(pid) == p.pid {
			return false, line("%s; but %s has that number in its own pid namespace", p.detail, h.name(pid))
		}
	}
	return true, line("%s", p.detail)
}

// runFiles judges the pid files in the usual place of a host (SH040).
func (h *host) runFiles() []Finding {
	if len(h.paths) > 0 {
		return nil
	}
	paths, _ := touch(h, "/run", func() []string {
		var all []string
		for _, pattern := range []string{"/run/*.pid", "/run/*/*.pid"} {
			found, err := filepath.Glob(pattern)
			if err == nil {
				all = append(all, found...)
			}
		}
		return all
	})
	var all []Finding
	for _, path := range paths {
		if p, ok := h.pidfileAt(path); ok {
			all = append(all, h.pidFinding(p)...)
		}
	}
	return all
}

// pidfileAt reads and judges a pid file; false if it is none.
func (h *host) pidfileAt(path string) (pidfile, bool) {
	type content struct {
		info fs.FileInfo
		data []byte
	}
	c, answered := touch(h, path, func() content {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 4*pidfileSize {
			return content{}
		}
		return content{info, h.head(path, pidfileSize)}
	})
	if !answered || c.info == nil {
		return pidfile{}, false
	}
	p := pidfile{path: path, sure: Certain}
	text, _, _ := strings.Cut(strings.TrimSpace(string(c.data)), "\n")
	switch n, err := strconv.Atoi(strings.TrimSpace(text)); {
	case c.info.Size() > 0 && len(c.data) == 0:
		return p, false // it could not be read
	case c.info.Size() == 0:
		p.verdict, p.detail = "empty", "it is empty: a writer died in the middle, or the disk was full"
	case err != nil || n <= 0:
		if filepath.Ext(path) != ".pid" {
			return p, false
		}
		p.verdict, p.detail = "no-number", fmt.Sprintf("it holds %q, which is no pid", text[:min(len(text), 40)])
	default:
		p.pid = n
		h.judgePID(&p, c.info.ModTime())
	}
	return p, true
}

// judgePID compares what a pid file says with the process that has the number.
func (h *host) judgePID(p *pidfile, written time.Time) {
	if p.pid == os.Getpid() {
		p.verdict, p.detail = "own-pid", "it names this very process: the pid was used again"
		return
	}
	st, err := h.proc.Status(p.pid)
	proc := h.process(p.pid)
	switch {
	case err != nil && slices.Contains(h.pids, p.pid):
		p.verdict, p.sure, p.detail = "unseen", Possible, fmt.Sprintf("there is a process %d, which may not be looked at from here", p.pid)
		return
	case err != nil:
		h.judgeGone(p)
		return
	case st.Tgid != p.pid:
		p.verdict, p.detail = "thread", fmt.Sprintf("%d is a thread of %s now, not a process", p.pid, h.name(st.Tgid))
		return
	case !proc.alive:
		p.verdict, p.detail = "zombie", fmt.Sprintf("pid %d has exited; its parent, %s, has not reaped it yet", p.pid, h.name(proc.stat.PPID))
		return
	}
	started := h.started(proc)
	late := !started.IsZero() && started.After(written.Add(slack))
	fits := h.fits(p.path, p.pid)
	switch {
	case late && !fits:
		p.verdict, p.sure = "reused", Likely
		p.detail = fmt.Sprintf("%s started %s after the file was written, and is another program", h.name(p.pid), solehold.Age(started.Sub(written)))
	case late:
		p.verdict, p.sure = "reused", Possible
		p.detail = fmt.Sprintf("%s started %s after the file was written (or the clock was set meanwhile)", h.name(p.pid), solehold.Age(started.Sub(written)))
	case fits:
		p.verdict, p.detail = "right", "executable, start time and command line agree: "+h.name(p.pid)
	default:
		p.verdict, p.sure, p.detail = "right", Likely, "the start time agrees; the name of the program says nothing: "+h.name(p.pid)
	}
}

// judgeGone is about a number that no process here has.
func (h *host) judgeGone(p *pidfile) {
	p.verdict, p.detail = "gone", fmt.Sprintf("there is no process %d here", p.pid)
	for _, pid := range h.pids {
		if h.elsewhere(pid) != "" && h.ownNumber(pid) == p.pid && h.fits(p.path, pid) {
			p.verdict, p.sure = "other-namespace", Possible
			p.detail = fmt.Sprintf("no process %d here; %s has that number in its own pid namespace", p.pid, h.name(pid))
			return
		}
	}
	switch {
	case !h.first:
		p.sure = Possible
		p.detail += "; it may be in another pid namespace"
	case h.hiding() != "":
		p.sure = Possible
		p.detail += "; it may be another user's, whom /proc hides"
	}
}

// fits says whether a process could be the one that a pid file is named after.
func (h *host) fits(path string, pid int) bool {
	stem := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	stem, _, _ = strings.Cut(stem, "@")
	words := strings.FieldsFunc(stem, func(r rune) bool { return strings.ContainsRune("-_.", r) })
	have := strings.ToLower(h.process(pid).stat.Comm + " " + h.program(pid) + " " + h.show(pid).Command)
	if stem == "postmaster" {
		words = append(words, "postgres")
	}
	return slices.ContainsFunc(words, func(w string) bool { return len(w) > 1 && strings.Contains(have, w) })
}

// pidFinding tells a pid file that does not name its service (SH040).
func (h *host) pidFinding(p pidfile) []Finding {
	if p.verdict == "right" || p.verdict == "unseen" || p.verdict == "" {
		return nil
	}
	f := Finding{
		ID: "SH040", Severity: Notice, Confidence: p.sure, Path: p.path,
		Title:    "pid file does not name its service: " + p.verdict,
		Evidence: []string{line("%s: %s", p.path, p.detail)},
		Advice:   "let nothing be stopped or started on the word of this file; the service writes it anew when it starts",
	}
	if p.pid > 0 && h.process(p.pid).alive {
		f.Holders = []Process{h.show(p.pid)}
	}
	return []Finding{f}
}
