package supervise

import (
	"fmt"
	"os"
	"slices"
	"strings"
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
	proc      procfs.FS
	self      int
	strangers []procid.ID // children that were there before the command
	cgroup    *cgroup
}

func newTree(proc procfs.FS) *tree {
	t := &tree{proc: proc, self: os.Getpid()}
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	children, _ := proc.Children(0)
	for _, pid := range children {
		if id, err := procid.Of(proc, pid); err == nil {
			t.strangers = append(t.strangers, id)
		}
	}
	return t
}

// empty reports whether nothing is left. As long as a descendant lives, this
// process has a child.
func (t *tree) empty() bool {
	if len(t.strangers) > 0 {
		return len(t.members()) == 0
	}
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == unix.ECHILD
}

// members lists the living descendants, those of strangers left out.
func (t *tree) members() []procfs.Stat {
	pids, err := t.proc.Pids()
	if err != nil {
		return nil
	}
	below := map[int][]procfs.Stat{}
	for _, pid := range pids {
		if st, err := t.proc.Stat(pid); err == nil {
			below[st.PPID] = append(below[st.PPID], st)
		}
	}
	var found []procfs.Stat
	queue := []int{t.self}
	for len(queue) > 0 && len(found) < 1<<16 {
		for _, st := range below[queue[0]] {
			if t.stranger(st) {
				continue
			}
			queue = append(queue, st.PID)
			if st.State != 'Z' && st.State != 'X' {
				found = append(found, st)
			}
		}
		queue = queue[1:]
	}
	return found
}

func (t *tree) stranger(st procfs.Stat) bool {
	return slices.ContainsFunc(t.strangers, func(id procid.ID) bool {
		return id.PID == st.PID && id.StartTicks == st.StartTicks
	})
}

// names lists the members for people, a few of them.
func (t *tree) names() string {
	const most = 5
	var names []string
	all := t.members()
	for _, m := range all[:min(len(all), most)] {
		name := m.Comm
		if command, err := t.proc.Cmdline(m.PID); err == nil && len(command) > 0 {
			name = solehold.CommandLine(command)
		}
		names = append(names, fmt.Sprintf("pid %d (%s)", m.PID, solehold.Printable(name)))
	}
	if len(all) > most {
		names = append(names, fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(names, ", ")
}

// signal reaches every member, each through a descriptor that is proven to be
// that process.
func (t *tree) signal(sig syscall.Signal) {
	for _, m := range t.members() {
		h, err := open(t.proc, m.PID, m.StartTicks)
		if err != nil {
			continue // gone meanwhile
		}
		h.Signal(sig)
		h.Close()
	}
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
// can fork away while the others are killed.
func (t *tree) kill() {
	if t.cgroup.kill() {
		t.signal(syscall.SIGKILL) // what left the group
		return
	}
	for before := -1; ; {
		now := len(t.members())
		if now == before || now == 0 {
			break
		}
		before = now
		t.signal(syscall.SIGSTOP)
	}
	t.signal(syscall.SIGKILL)
}
