//go:build !solehold_portable

package supervise

import (
	"os"
	"slices"
	"syscall"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/procfs"
)

// host is what Linux has for a run: this process is the subreaper of the command's
// tree, with a cgroup of its own for it where one can be made.
type host struct {
	inherited []int
	tree      *tree
	tty       *terminal
	group     *cgroup
	children  chan os.Signal
	probes    nursery
	ooms      int // kills for want of memory in the group before this life
}

func newHost() host { return host{children: make(chan os.Signal, 1)} }

// able refuses what this system has not.
func able(Config) error { return nil }

// units refuses nothing: whether there is a systemd is seen when it is asked.
func units() error { return nil }

// settleIn makes what outlives a single life of the command.
func (r *runner) settleIn() error {
	r.tree = newTree(procfs.Default())
	r.tree.exempt, r.probes.proc, r.probes.blind = r.probes.has, r.tree.proc, r.tree.blind
	r.tty = openTerminal()
	if group, err := newCgroup(); err == nil {
		r.group = group
	}
	return nil
}

func (h *host) close() { h.group.remove() }

// groupName is what others find the command's group by.
func (r *runner) groupName() string { return r.tree.cgroup.name() }

// fork starts the command.
func (r *runner) fork() (*child, error) {
	r.group = r.group.renew()
	r.agent.watch(0, 0, r.group)
	s := r.spec()
	if r.relay.activated {
		s.adopt()
	}
	child, err := spawn(s, r.group)
	if err != nil {
		return nil, err
	}
	r.ooms = r.group.ooms()
	r.tree.cgroup = nil
	if child.grouped {
		r.tree.cgroup = r.group
	}
	if r.agent != nil {
		st, _ := r.tree.proc.Stat(child.pid) // it was not reaped, so it is there
		r.agent.watch(child.pid, st.StartTicks, r.tree.cgroup)
	}
	return child, nil
}

// reap collects every process that has ended or stopped.
func (r *runner) reap() {
	for {
		pid, ended := nextChanged()
		if pid <= 0 {
			return
		}
		if ended {
			r.probes.ending(pid)
		}
		var status syscall.WaitStatus
		got, err := syscall.Wait4(pid, &status, syscall.WNOHANG|syscall.WUNTRACED|syscall.WCONTINUED, nil)
		if err != nil || got <= 0 {
			continue // it has changed again meanwhile
		}
		switch first := r.child != nil && pid == r.child.pid && r.end == nil; { // later it is another one
		case first && ended:
			r.ended(endFrom(status))
		case first && status.Stopped():
			r.stopped(status.StopSignal())
		case ended && !r.probes.ended(pid, status):
			r.tree.reaped(pid)
		}
	}
}

// askGroup asks the command's group to end, and reports whether it could.
func (r *runner) askGroup(sig syscall.Signal) bool {
	r.child.ask(sig)
	return true
}

// explain adds what is known of an end beyond its status.
func (r *runner) explain(end *End) {
	if end.Signal == syscall.SIGKILL && !r.killing {
		end.OOM = r.oom()
	}
	end.Keys = r.tty.takeBack(r.child.pid) && (end.Signal == syscall.SIGINT || end.Signal == syscall.SIGQUIT)
}

// commands runs those of probes, which this process' one reaper must know of.
func (h *host) commands() health.Runner { return &h.probes }

// below reports whether a process belongs to the command's tree.
func (r *runner) below(pid int) bool { return slices.Contains(ancestors(pid), r.tree.self) }

// descendants lists the processes below this one.
func (r *runner) descendants() []int {
	t := tree{proc: r.tree.proc, self: r.tree.self, exempt: r.probes.has} // r.tree is the loop's
	return t.pids()
}

// identity is that of the command's tree.
func (r *runner) identity() *identity {
	return &identity{proc: r.tree.proc, belongs: r.below, members: r.descendants}
}

// identity is that of the holder's processes.
func (l *lookout) identity() *identity {
	return &identity{proc: procfs.Default(), belongs: l.belongs, members: l.members}
}

// ancestors lists the processes above one; pid 0 is this one.
func ancestors(pid int) (pids []int) {
	for _, p := range procfs.Default().Ancestors(pid) {
		pids = append(pids, p.PID)
	}
	return pids
}
