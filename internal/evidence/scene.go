package evidence

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/solehold/solehold/internal/procfs"
)

// scene is what the parts are made from. What costs a look at every process is
// looked at once, also where parts that were given up still go on.
type scene struct {
	r    Request
	proc procfs.FS

	held    func() holdings
	rows    func() []procfs.Lock
	waiting func() []wait
	clocks  clocks
}

// holdings is every lock that a visible process holds.
type holdings struct {
	all  []procfs.Holding
	gaps procfs.Gaps
}

func newScene(r Request) *scene {
	s := &scene{r: r, proc: procfs.Default()}
	s.held = sync.OnceValue(func() (h holdings) {
		h.all, h.gaps = s.proc.LockHolders(nil)
		return h
	})
	s.rows = sync.OnceValue(func() []procfs.Lock {
		rows, _ := s.proc.Locks() // where they cannot be read locks.txt says so
		return rows
	})
	s.waiting = sync.OnceValue(s.look)
	return s
}

// clocks are those of the scheduler, one for each processor: they do not count what interrupts and the host of a virtual
// machine take from it, so that two of them are seconds apart after some hours.
type clocks struct {
	mu  sync.Mutex
	now map[int]float64
}

// clock is what the scheduler's clock of a processor shows, in milliseconds; 0 where it cannot be read.
func (s *scene) clock(cpu int) float64 {
	s.clocks.mu.Lock()
	defer s.clocks.mu.Unlock()
	now, known := s.clocks.now[cpu]
	if !known {
		onProcessor(cpu, func() {
			text, _ := s.proc.System("thread-self/sched")
			now = lastRan(text)
		})
		if s.clocks.now == nil {
			s.clocks.now = map[int]float64{}
		}
		s.clocks.now[cpu] = now
	}
	return now
}

// name names the service without a look at it.
func (s *scene) name() string {
	if len(s.r.PIDs) == 0 {
		return "no process of the service is visible"
	}
	return fmt.Sprintf("pid %d", s.r.PIDs[0])
}

// target is what a descriptor is open on, fit for a line of text.
func (s *scene) target(pid, fd int) (string, error) {
	target, err := s.proc.FDTarget(pid, fd)
	return printable(target), err
}

// printable replaces what would break a line, or what a terminal would obey: the
// names of files and processes were chosen by others.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// each makes a section for every process of the service. What cannot be read is
// said in its place; the error counts those.
func (s *scene) each(section func(b *strings.Builder, pid int) error) (string, error) {
	var b strings.Builder
	var failed []string
	for _, pid := range s.r.PIDs {
		if err := section(&b, pid); err != nil {
			fmt.Fprintf(&b, "pid %d: %v\n", pid, err)
			failed = append(failed, fmt.Sprintf("pid %d: %v", pid, err))
		}
	}
	if len(failed) == 0 {
		return b.String(), nil
	}
	return b.String(), fmt.Errorf("in part: %s", strings.Join(failed[:min(3, len(failed))], "; "))
}

func (s *scene) command(pid int) string {
	if command, err := s.proc.Cmdline(pid); err == nil && len(command) > 0 {
		return printable(strings.Join(maskArgs(command), " "))
	}
	if st, err := s.proc.Stat(pid); err == nil {
		return printable(st.Comm)
	}
	if text, err := describe(pid); err == nil {
		name, _, _ := strings.Cut(text, ", started ")
		return printable(name)
	}
	return "not visible"
}

// processes tells of each process: command, parent, state, place, limits.
func (s *scene) processes() (string, error) {
	return s.each(func(b *strings.Builder, pid int) error {
		if toldElsewhere {
			text, err := describe(pid)
			if err == nil {
				fmt.Fprintf(b, "pid %d  %s\n", pid, printable(text))
			}
			return err
		}
		st, err := s.proc.Stat(pid)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "pid %d  parent %d  group %d  session %d  state %s\n  command  %s\n",
			pid, st.PPID, st.PGID, st.SID, stateName(st.State), s.command(pid))
		for _, name := range []string{"cgroup", "limits", "io", "schedstat", "oom_score"} {
			text, err := s.proc.Text(pid, name)
			if err != nil {
				text = err.Error()
			}
			fmt.Fprintf(b, "  %s:\n%s", name, indent(text))
		}
		return nil
	})
}

// threads tells where each thread is in the kernel, and its kernel stack where
// that is permitted.
func (s *scene) threads() (string, error) {
	return s.each(func(b *strings.Builder, pid int) error {
		tids, err := s.proc.Threads(pid)
		if err != nil {
			return err
		}
		for _, tid := range tids[:min(len(tids), 2000)] {
			s.thread(b, pid, tid)
		}
		return nil
	})
}

func (s *scene) thread(b *strings.Builder, pid, tid int) {
	st, err := s.proc.ThreadStat(pid, tid)
	if err != nil {
		return // it ended meanwhile
	}
	w := s.waitOf(pid, tid, st)
	fmt.Fprintf(b, "pid %d thread %d (%s): %s", pid, tid, printable(st.Comm), stateName(st.State))
	if w.call != "" {
		fmt.Fprintf(b, ", in %s", w.where())
	}
	if w.wchan != "" {
		fmt.Fprintf(b, ", waits in %s", w.wchan)
	}
	if w.age >= time.Second {
		fmt.Fprintf(b, ", last ran %s ago", age(w.age))
	}
	b.WriteByte('\n')
	if stack, err := s.proc.Text(pid, fmt.Sprintf("task/%d/stack", tid)); err == nil {
		b.WriteString(indent(stack))
	}
}

// descriptors lists every open file, with flags and locks.
func (s *scene) descriptors() (string, error) {
	return s.each(func(b *strings.Builder, pid int) error {
		fds, err := s.proc.FDs(pid)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "pid %d: %d descriptors\n", pid, len(fds))
		for _, fd := range fds[:min(len(fds), 5000)] {
			target, err := s.target(pid, fd)
			if err != nil {
				continue
			}
			fmt.Fprintf(b, "  %d\t%s", fd, target)
			if info, err := s.proc.FDInfo(pid, fd); err == nil {
				fmt.Fprintf(b, "\tflags %o\tpos %d", info.Flags, info.Pos)
				for _, l := range info.Locks {
					fmt.Fprintf(b, "\tlock %s %s %d-%d", l.Type, l.Access, l.Start, l.End)
				}
			}
			b.WriteByte('\n')
		}
		return nil
	})
}

// memory tells of the processes' and the machine's memory, and of pressure.
func (s *scene) memory() (string, error) {
	text, err := s.each(func(b *strings.Builder, pid int) error {
		rollup, err := s.proc.Text(pid, "smaps_rollup")
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "pid %d\n%s", pid, indent(rollup))
		return nil
	})
	for _, name := range []string{"loadavg", "meminfo", "pressure/cpu", "pressure/io", "pressure/memory"} {
		if t, err := s.proc.System(name); err == nil {
			text += name + "\n" + indent(t)
		}
	}
	return text, err
}

// environment lists the variables with the values of secrets masked.
func (s *scene) environment() (string, error) {
	return s.each(func(b *strings.Builder, pid int) error {
		text, err := s.proc.Text(pid, "environ")
		if err != nil {
			return err
		}
		vars := strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
		slices.Sort(vars)
		for i, v := range vars {
			vars[i] = printable(v)
		}
		fmt.Fprintf(b, "pid %d\n%s", pid, indent(strings.Join(maskEnv(vars), "\n")+"\n"))
		return nil
	})
}

func (s *scene) probe() (string, error) {
	if len(s.r.Probe) == 0 {
		return "", fmt.Errorf("no probe ran")
	}
	return strings.Join(s.r.Probe, "\n") + "\n", nil
}

func (s *scene) output() (string, error) {
	if len(s.r.Output) == 0 {
		return "", fmt.Errorf("nothing was captured")
	}
	return string(s.r.Output), nil
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// stateName says a state letter of proc(5) in words.
func stateName(state byte) string {
	switch state {
	case 'R':
		return "running"
	case 'S':
		return "sleeping"
	case 'D':
		return "in uninterruptible sleep (D)"
	case 'T':
		return "stopped by a signal (T)"
	case 't':
		return "stopped by a debugger (t)"
	case 'Z':
		return "a zombie (Z)"
	case 'I':
		return "idle"
	}
	return "state " + string(state)
}
