package evidence

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/procfs"
)

// maxThreads bounds how many threads of one process are looked at.
const maxThreads = 2000

// wait is where one thread stands.
type wait struct {
	pid, tid int
	state    byte
	age      time.Duration // since it last ran, 0 where that is not known
	call     string        // the system call it is in
	target   string        // the file or socket of that call, if it has one
	wchan    string
	locked   bool     // it waits for a lock of target
	blockers blockers // who has that
}

// where says the call with its file.
func (w wait) where() string {
	if w.target == "" {
		return w.call
	}
	return w.call + "() on " + w.target
}

// look looks at every thread of the service.
func (s *scene) look() []wait {
	var all []wait
	for _, pid := range s.r.PIDs {
		all = append(all, s.threadsOf(pid)...)
	}
	return all
}

func (s *scene) threadsOf(pid int) (all []wait) {
	tids, err := s.proc.Threads(pid)
	if err != nil {
		return nil
	}
	for _, tid := range tids[:min(len(tids), maxThreads)] {
		if st, err := s.proc.ThreadStat(pid, tid); err == nil {
			all = append(all, s.waitOf(pid, tid, st))
		}
	}
	return all
}

// waitOf finds out where a thread is.
func (s *scene) waitOf(pid, tid int, st procfs.Stat) wait {
	w := wait{pid: pid, tid: tid, state: st.State, age: s.idle(pid, tid, st.CPU)}
	if text, err := s.proc.Text(pid, fmt.Sprintf("task/%d/wchan", tid)); err == nil && text != "0" {
		w.wchan = printable(strings.TrimSpace(text))
	}
	fd := -1
	w.call, fd = s.callOf(pid, tid)
	if fd >= 0 {
		w.target, _ = s.target(pid, fd)
	}
	switch {
	case w.call == "flock" || w.call == "fcntl":
		w.locked = fd >= 0 && w.target != ""
	case w.call == "" && locking(w.wchan):
		// Its registers may not be seen by this user, the kernel's table may.
		fd, w.call = s.awaited(pid), plain(w.wchan)
		if w.locked = fd >= 0; w.locked {
			w.target, _ = s.target(pid, fd)
		}
	}
	if w.locked {
		w.blockers = s.blockersOf(pid, fd)
	}
	return w
}

// callOf tells the system call of a thread, and the descriptor that it was given
// where it has one, else -1.
func (s *scene) callOf(pid, tid int) (call string, fd int) {
	text, err := s.proc.Text(pid, fmt.Sprintf("task/%d/syscall", tid))
	fields := strings.Fields(text)
	if err != nil || len(fields) < 2 {
		return "", -1 // "running", or hidden
	}
	number, err := strconv.Atoi(fields[0])
	if err != nil || number < 0 {
		return "", -1
	}
	call = callName(runtime.GOARCH, number)
	if !takesFile(call) {
		return call, -1
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(fields[1], "0x"), 16, 64)
	if err != nil || n >= 1<<20 {
		return call, -1
	}
	return call, int(n)
}

// takesFile reports whether the first argument of a call is a descriptor that
// says what it waits for.
func takesFile(call string) bool {
	return slices.Contains([]string{
		"flock", "fcntl", "read", "write", "fsync", "fdatasync", "connect", "accept", "accept4", "recvfrom", "recvmsg",
	}, call)
}

// idle is the time since a thread last ran on its processor, as far as the kernel tells. What the host has taken from that
// processor meanwhile is not in it.
func (s *scene) idle(pid, tid, cpu int) time.Duration {
	text, err := s.proc.Text(pid, fmt.Sprintf("task/%d/sched", tid))
	ran, now := lastRan(text), s.clock(cpu)
	if err != nil || ran <= 0 || now <= ran {
		return 0
	}
	return time.Duration((now - ran) * float64(time.Millisecond))
}

// lastRan reads the milliseconds of the scheduler's clock at which a thread ran
// last; 0 where there is no such line.
func lastRan(sched string) float64 {
	_, rest, found := strings.Cut(sched, "se.exec_start")
	_, rest, colon := strings.Cut(rest, ":")
	line, _, _ := strings.Cut(rest, "\n")
	ms, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	if !found || !colon || err != nil {
		return 0
	}
	return ms
}

func age(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

// plain gives the kernel's names the words that people know.
func plain(wchan string) string {
	for _, known := range []struct{ prefix, word string }{
		{"futex", "futex"},
		{"ep_poll", "epoll"},
		{"do_epoll", "epoll"},
		{"hrtimer_nanosleep", "nanosleep"},
		{"do_nanosleep", "nanosleep"},
		{"pipe_", "a pipe"},
		{"anon_pipe", "a pipe"},
		{"unix_", "a unix socket"},
		{"inet_csk_accept", "accept"},
		{"do_wait", "wait"},
		{"sk_wait", "a socket"},
		{"flock_lock", "flock"},
		{"posix_lock", "fcntl"},
		{"fcntl_setlk", "fcntl"},
		{"locks_lock", "a file lock"},
		{"do_sys_poll", "poll"},
		{"do_select", "select"},
		{"do_poll", "poll"},
		{"do_sigtimedwait", "a signal"},
	} {
		if strings.HasPrefix(strings.TrimPrefix(wchan, "__"), known.prefix) {
			return known.word
		}
	}
	return wchan
}

// locking reports whether a thread sleeps in the kernel's file locks.
func locking(wchan string) bool {
	return slices.Contains([]string{"flock", "fcntl", "a file lock"}, plain(wchan))
}
