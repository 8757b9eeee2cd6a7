//go:build !solehold_portable

package supervise

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

// tree is every process below this one that the command brought. This process
// is their subreaper: whatever they do, fork twice or open a session of their
// own, they stay its descendants.
type tree struct {
	proc   procfs.FS
	self   int
	blind  bool // proc is that of another pid namespace: its numbers mean others
	cgroup *cgroup

	// strangers were below this process before the command, as those are that a
	// script started before it became us. What they start later is found through
	// them; what outlives them unseen counts as the command's.
	strangers map[int]uint64 // pid, start

	exempt func(pid int) bool // what runs below us beside the command; may be nil
	spare  func(pid int) bool // what gets no signal, although it counts; may be nil
}

func newTree(proc procfs.FS) *tree {
	t := &tree{proc: proc, self: os.Getpid(), strangers: map[int]uint64{}}
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	st, err := proc.Stat(0)
	if t.blind = err != nil || st.PID != t.self; t.blind {
		return t
	}
	if childless() {
		return t // as nearly always: without a look at every process
	}
	for _, st := range t.members() {
		t.strangers[st.PID] = st.StartTicks
	}
	return t
}

// empty reports whether nothing is left. As long as a descendant lives, this
// process has a child, dead or alive, until it reaps that: so the question is
// answered exactly, while a listing of descendants can miss one that moves.
func (t *tree) empty() bool {
	if len(t.strangers) == 0 {
		return childless()
	}
	children, err := t.proc.Children(0)
	return err == nil && !slices.ContainsFunc(children, func(pid int) bool {
		st, err := t.proc.Stat(pid)
		return err != nil || !t.stranger(st)
	})
}

// childless asks the kernel whether this process has a child, dead or alive.
func childless() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// reaped forgets a stranger that has ended.
func (t *tree) reaped(pid int) { delete(t.strangers, pid) }

// members lists the living descendants, those of strangers left out.
func (t *tree) members() []procfs.Stat {
	const most = 1 << 16
	if t.blind {
		return nil
	}
	below := t.families()
	var found []procfs.Stat
	queue := []int{t.self}
	for len(queue) > 0 && len(found) < most {
		for _, st := range below[queue[0]] {
			if t.stranger(st) {
				t.adopt(st.PID, below)
				continue
			}
			if t.exempt != nil && t.exempt(st.PID) {
				continue
			}
			queue = append(queue, st.PID)
			if !st.Ended() {
				found = append(found, st)
			}
		}
		queue = queue[1:]
	}
	return found
}

// pids lists the living descendants by their numbers.
func (t *tree) pids() []int {
	var all []int
	for _, m := range t.members() {
		all = append(all, m.PID)
	}
	return all
}

// families lists all processes by their parent.
func (t *tree) families() map[int][]procfs.Stat {
	below := map[int][]procfs.Stat{}
	pids, err := t.proc.Pids()
	if err != nil {
		return below
	}
	for _, pid := range pids {
		if st, err := t.proc.Stat(pid); err == nil {
			below[st.PPID] = append(below[st.PPID], st)
		}
	}
	return below
}

// adopt makes what is below a stranger strangers too: they come to us when it ends.
func (t *tree) adopt(stranger int, below map[int][]procfs.Stat) {
	met := map[int]bool{stranger: true}
	queue := []int{stranger}
	for len(queue) > 0 {
		for _, st := range below[queue[0]] {
			if !met[st.PID] {
				met[st.PID] = true
				t.strangers[st.PID] = st.StartTicks
				queue = append(queue, st.PID)
			}
		}
		queue = queue[1:]
	}
}

func (t *tree) stranger(st procfs.Stat) bool {
	start, ok := t.strangers[st.PID]
	return ok && start == st.StartTicks
}

// names lists the members for people, a few of them.
func (t *tree) names() string {
	return fewOf(t.members(), func(m procfs.Stat) string {
		name := m.Comm
		if command, err := t.proc.Cmdline(m.PID); err == nil && len(command) > 0 {
			name = solehold.CommandLine(command)
		}
		return fmt.Sprintf("pid %d (%s)", m.PID, solehold.Printable(name))
	})
}

// signal reaches every member, each through a descriptor that is proven to be
// that process.
func (t *tree) signal(sig syscall.Signal) {
	if t.blind && t.self == 1 {
		syscall.Kill(-1, sig) // all that pid 1 can see is below it
	}
	for _, m := range t.members() {
		h, err := open(t.proc, m.PID, m.StartTicks)
		if err != nil {
			continue // gone meanwhile
		}
		if t.spare == nil || !t.spare(m.PID) {
			h.Signal(sig)
		}
		h.Close()
	}
}

// ask asks all to end. SIGCONT follows, since a stopped process would not hear it.
func (t *tree) ask() {
	t.signal(syscall.SIGTERM)
	t.signal(syscall.SIGCONT)
}

// open returns a handle of a process that was just seen here with this start.
func open(proc procfs.FS, pid int, start uint64) (*procid.Handle, error) {
	id, err := procid.Of(proc, 0) // boot and namespaces are those of the observer
	if err != nil {
		return nil, err
	}
	id.PID, id.StartTicks, id.PidfsID = pid, start, 0
	return procid.Open(proc, id)
}

// kill ends every member. Without a cgroup they are stopped first, so that none
// can fork away while the others are killed; the rounds are bounded, since the
// caller comes again.
func (t *tree) kill() {
	const rounds = 20
	if t.cgroup.kill() {
		t.signal(syscall.SIGKILL) // what left the group
		return
	}
	before := -1
	for range rounds {
		now := len(t.members())
		if now == before || now == 0 {
			break
		}
		before = now
		t.signal(syscall.SIGSTOP)
	}
	t.signal(syscall.SIGKILL)
}
