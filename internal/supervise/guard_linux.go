//go:build !solehold_portable

package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

// Guard stops the tree of a run from another process, which the run has started
// for that: also when the run itself is frozen, or dead. It belongs to one
// goroutine.
type Guard struct {
	proc    procfs.FS
	wrapper *procid.Handle
	start   uint64 // of the wrapper
	tree    tree   // below the wrapper, without the guard itself
	left    *target
	dir     string
	o       solehold.Options
	token   uint64  // of the run's lock of the directory; 0 where that cannot be read
	peer    *uint32 // the user whose processes may be stopped; nil is for all that this process may
}

// NewGuard guards the run that is the parent of this process and holds dir.
func NewGuard(dir, state string) (*Guard, error) {
	parent := os.Getppid()
	g, err := newGuard(parent, dir, state)
	if err != nil {
		return nil, fmt.Errorf("the run that started this agent: %w", err)
	}
	if os.Getppid() != parent { // it died, and what was opened may be another
		g.Close()
		return nil, errNoParent
	}
	self := os.Getpid()
	g.tree.exempt = func(pid int) bool { return pid == self }
	g.begin()
	return g, nil
}

// newGuard takes hold of the run. Whether the pid still is the run's the caller
// must see afterwards.
func newGuard(pid int, dir, state string) (*Guard, error) {
	proc := procfs.Default()
	st, err := proc.Stat(pid)
	if err != nil {
		return nil, fmt.Errorf("pid %d cannot be seen in /proc: %w", pid, err)
	}
	h, err := open(proc, pid, st.StartTicks)
	if err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, err)
	}
	g := &Guard{proc: proc, wrapper: h, start: st.StartTicks, left: newTarget(), dir: dir, o: solehold.Options{StateDir: state}}
	g.tree = tree{proc: proc, self: pid, strangers: map[int]uint64{}}
	return g, nil
}

// begin looks what there is before the command.
func (g *Guard) begin() {
	for _, st := range g.tree.members() {
		g.tree.strangers[st.PID] = st.StartTicks
	}
	if s, err := solehold.Inspect(context.Background(), g.dir, &g.o); err == nil {
		g.token = s.Token
	}
}

var errNoParent = errors.New("the run that started this agent is gone")

// Watch takes in a new tree: its first process, 0 before there is one, and the
// directory of its cgroup, or "". What is not the run's own is refused.
func (g *Guard) Watch(pid int, start uint64, group string) error {
	g.left.keep(nil)
	g.leaveGroup()
	if group != "" {
		var err error
		if g.tree.cgroup, err = g.ownGroup(group); err != nil {
			return err
		}
	}
	if pid == 0 {
		return nil
	}
	st, err := g.proc.Stat(pid)
	if err != nil || st.StartTicks != start {
		return nil // it is over already
	}
	if st.PPID != g.tree.self && !g.Orphaned() {
		return fmt.Errorf("pid %d was not started by pid %d", pid, g.tree.self)
	}
	g.left.add(birth{st.PID, st.StartTicks})
	return nil
}

// ownGroup opens the cgroup that the run has made for itself: whatever its path
// leads to later, it stays that one.
func (g *Guard) ownGroup(path string) (*cgroup, error) {
	pid, start, ok := groupOwner(filepath.Base(path))
	if !ok || pid != g.tree.self || start != g.start || filepath.Clean(path) != path {
		return nil, fmt.Errorf("%s is not the cgroup of pid %d", path, g.tree.self)
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var fs unix.Statfs_t
	var st unix.Stat_t
	err = errors.Join(unix.Fstatfs(fd, &fs), unix.Fstat(fd, &st))
	if err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC || g.peer != nil && st.Uid != *g.peer {
		unix.Close(fd)
		return nil, fmt.Errorf("%s is no cgroup of version 2 that pid %d has made", path, g.tree.self)
	}
	return &cgroup{path: fmt.Sprintf("/proc/self/fd/%d", fd), fd: fd}, nil
}

func (g *Guard) leaveGroup() {
	if g.tree.cgroup != nil {
		unix.Close(g.tree.cgroup.fd)
		g.tree.cgroup = nil
	}
}

// Orphaned reports whether the run is dead.
func (g *Guard) Orphaned() bool { return g.wrapper.Ended() }

// Stop asks the tree of a dead run to end, kills it after the grace period, and
// returns whether it was seen to be gone. It comes back when ctx ends.
func (g *Guard) Stop(ctx context.Context, grace time.Duration) bool {
	g.gather(ctx)
	g.left.signal(syscall.SIGTERM)
	g.left.signal(syscall.SIGCONT)
	if g.left.wait(ctx, grace) && g.Gone(ctx) {
		return true
	}
	for again := sweepAgain; ctx.Err() == nil; again = min(2*again, sweepMost) {
		g.Kill(ctx)
		if g.Gone(ctx) {
			return true
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
	return false
}

// Kill kills the tree, wherever its processes have hidden.
func (g *Guard) Kill(ctx context.Context) {
	g.tree.cgroup.kill()
	g.left.signal(syscall.SIGKILL) // at once; what follows takes its time where there are many processes
	g.tree.kill()
	g.gather(ctx)
	g.left.signal(syscall.SIGKILL)
}

// gather takes in what runs below those that are known, and what the kernel shows
// to share the run's lock when that is dead.
func (g *Guard) gather(ctx context.Context) {
	g.left.addBelow()
	if !g.Orphaned() {
		return
	}
	pids, err := g.sharers(ctx)
	if err != nil || len(pids) == 0 {
		return
	}
	sharers := newTarget()
	sharers.take(pids)
	if pids, err = g.sharers(ctx); err != nil {
		pids = nil
	}
	sharers.keep(pids) // those are held by their descriptors, and share it now
	for pid, h := range sharers.grips {
		if g.left.grips[pid] == nil && pid != os.Getpid() {
			g.left.grips[pid] = h
			continue
		}
		h.Close()
	}
}

// sharers lists who shares the lock of the dead run. As soon as a successor has
// taken it, on this host, all of the run's have let go.
func (g *Guard) sharers(ctx context.Context) ([]int, error) {
	pids, err := solehold.Sharers(ctx, g.dir, &g.o)
	if err != nil || len(pids) == 0 || g.token == 0 {
		return pids, err
	}
	s, err := solehold.Inspect(ctx, g.dir, &g.o)
	if err == nil && s.Token > g.token {
		return nil, nil
	}
	return pids, err
}

// Gone reports whether nothing of the tree is left, as far as can be proven here:
// by its cgroup, by the processes that were seen, and, when the run is dead, by
// the directory itself, which whoever is left holds.
func (g *Guard) Gone(ctx context.Context) bool {
	for _, h := range g.left.grips {
		if !h.Ended() {
			return false
		}
	}
	if g.tree.cgroup != nil && populated(g.tree.cgroup.path) {
		return false
	}
	if !g.Orphaned() {
		return len(g.tree.members()) == 0
	}
	pids, err := g.sharers(ctx)
	return err == nil && len(pids) == 0
}

// populated reports whether a cgroup has processes; one that is gone has none.
func populated(path string) bool {
	text, err := os.ReadFile(filepath.Join(path, "cgroup.events"))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENODEV)
	}
	return strings.Contains(string(text), "populated 1")
}

// FailStop kills the run too: as long as it lives it could start its command once
// more.
func (g *Guard) FailStop(ctx context.Context) {
	g.Kill(ctx)
	g.left.addBelow()
	g.wrapper.Signal(syscall.SIGKILL)
	g.Kill(ctx)
}

// Close closes what is open; nothing is touched.
func (g *Guard) Close() {
	g.leaveGroup()
	g.left.close()
	g.wrapper.Close()
}
