//go:build !solehold_portable

package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/lease"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

// agentFD is where an agent finds the socket to its run.
const agentFD = 3

// AgentConn is the socket of an agent to the run that has started it.
func AgentConn() (io.ReadWriteCloser, error) {
	if kind, err := unix.GetsockoptInt(agentFD, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || kind != unix.AF_UNIX {
		return nil, errors.New("solehold run --cluster starts this program, with a socket")
	}
	if peer, err := unix.GetsockoptUcred(agentFD, unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil || int(peer.Pid) != os.Getppid() {
		return nil, errNoParent
	}
	unix.CloseOnExec(agentFD)
	unix.SetNonblock(agentFD, true)
	return os.NewFile(agentFD, "run"), nil
}

// agent is the process that keeps the lock at the engine, as its run sees it. A
// nil one is a run without a cluster. It belongs to one goroutine.
type agent struct {
	c       Cluster
	conn    *os.File
	process *os.Process         // nil where it is that of the host
	heard   <-chan wire.Message // closed when the agent is gone
	granted wire.Message
	timer   cluster.Timer // runs out also when the machine sleeps until then: Go's own would be late by that
	due     chan struct{} // has one when it has run out
	again   bool          // it had run out before

	mu    sync.Mutex
	sent  time.Duration // of the last acknowledged renewal, on CLOCK_BOOTTIME
	ttl   time.Duration
	final bool // the lock is lost, whatever comes
	state journal.Lease
	notes chan journal.Lease // the newest state, for who writes it down

	untold chan struct{} // closed when nobody writes it down any more
}

// newAgent starts it, a child of this process and no part of the command's tree, or
// finds that of the host.
func newAgent(c Cluster) (*agent, error) {
	if st, err := procfs.Default().Stat(0); err != nil || st.PID != os.Getpid() {
		return nil, errors.New("/proc is that of another pid namespace: mount its own there")
	}
	a := &agent{c: c, due: make(chan struct{}, 1), notes: make(chan journal.Lease, 1)}
	begin := a.pair
	if c.Socket != "" {
		begin = a.dial
	}
	if err := begin(); err != nil {
		return nil, err
	}
	var err error
	if a.timer, err = cluster.SystemClock().Timer(a.ring); err != nil {
		a.conn.Close()
		return nil, err
	}
	for _, name := range c.Secrets {
		os.Unsetenv(name) // the agent has it; the command, its probes and whatever else is started here do not get it
	}
	heard := make(chan wire.Message)
	a.heard = heard
	go a.listen(heard)
	return a, nil
}

// pair starts one with a socket that nobody else has.
func (a *agent) pair() error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "agent")
	defer theirs.Close()
	unix.SetNonblock(fds[0], true)
	a.conn = os.NewFile(uintptr(fds[0]), "agent")
	if err := a.start(theirs); err != nil {
		a.conn.Close()
		return err
	}
	return nil
}

// start gives it a group of its own: the keys of a terminal are for the command.
func (a *agent) start(conn *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	a.process, err = os.StartProcess(a.c.Agent, []string{a.c.Agent, AgentVerb}, &os.ProcAttr{
		Files: []*os.File{null, null, os.Stderr, conn}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	return err
}

// ring tells the loop that a deadline has come.
func (a *agent) ring() {
	select {
	case a.due <- struct{}{}:
	default:
	}
}

func (a *agent) listen(heard chan<- wire.Message) {
	defer close(heard)
	r := wire.NewReader(a.conn)
	for {
		m, err := r.Read()
		if err != nil {
			return
		}
		switch m.Kind {
		case wire.Acked:
			a.renewed(m)
			continue
		case wire.Trouble:
			a.note(func(l *journal.Lease) { l.Errors = max(l.Errors, m.Errors) })
			continue
		}
		heard <- m // the loop takes every message, or this process ends
	}
}

// acquire asks for the lock and waits for the answer, which must come within limit
// where nobody waits for a holder; 0 is without limit.
func (a *agent) acquire(ctx context.Context, m wire.Message, limit time.Duration, say func(string, ...any)) error {
	m.Kind, m.URL, m.Name = wire.Start, a.c.URL, a.c.Name
	m.Limit = limit / 10 * 7 // the agent says better than its silence what is wrong
	if err := a.introduce(m); err != nil {
		return a.gone()
	}
	var late <-chan time.Time
	if limit > 0 && m.Wait >= 0 {
		late = time.After(limit + m.Wait)
	}
	var told ClusterHeldError // who has it is said once
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			if a.process != nil {
				a.process.Kill() // what it may have asked for runs out
			}
			return &ClusterError{wire.Away, fmt.Sprintf("%s did not answer within %s", a.c.keeper(), limit+m.Wait)}
		case m, ok := <-a.heard:
			switch {
			case !ok:
				return a.gone()
			case m.Kind == wire.Waiting:
				if held := (ClusterHeldError{Name: a.c.Name, Info: m.Info, Token: m.Token}); held != told {
					told = held
					say("waiting: %v", &held)
				}
			case m.Kind == wire.Delayed:
				late = nil
				if limit > 0 {
					late = time.After(limit + m.Limit)
				}
				say("lock %q of the cluster: its last owner did not release it; waiting out the lock-delay of %s", a.c.Name, m.Limit)
			case m.Kind == wire.Refused:
				held := &ClusterHeldError{Name: a.c.Name, Info: m.Info, Token: m.Token}
				if m.Sticky != nil {
					held.Since = m.Sticky.Since
				}
				return held
			case m.Kind == wire.Failed:
				return &ClusterError{m.Fault, m.Text}
			case m.Kind == wire.Granted && m.Token > 0 && m.TTL > 0:
				a.granted = m
				a.renewed(m)
				return nil
			}
		}
	}
}

func (a *agent) gone() error {
	return &ClusterError{wire.Away, fmt.Sprintf("%s, which speaks with the cluster's engine, has ended", a.c.keeper())}
}

// renewed moves the deadlines.
func (a *agent) renewed(m wire.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.c.Sticky {
		a.ttl = m.TTL // it has no deadline
		return
	}
	if !a.final && m.Sent >= a.sent && m.Sent <= procid.SinceBoot() {
		a.sent, a.ttl = m.Sent, m.TTL
		until := a.sent + lease.TimesOf(a.ttl).Tell
		a.timer.Set(until)
		a.noteLocked(func(l *journal.Lease) {
			if l.TTL > 0 {
				l.Renewals++
			}
			l.Until, l.TTL = until, a.ttl
		})
	}
}

// times gives from when the deadlines count, and them.
func (a *agent) times() (sent time.Duration, t lease.Times) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent, lease.TimesOf(a.ttl)
}

// check returns an error when nothing may be started any more, whatever was heard:
// this process may have stood still.
func (a *agent) check() error {
	if a == nil || a.c.Sticky {
		return nil
	}
	if sent, t := a.times(); procid.SinceBoot() < sent+t.Tell {
		return nil
	}
	return a.lost(unconfirmed)
}

const unconfirmed = "the engine has not confirmed it for 0.60 of its time to live"

func (a *agent) lost(why string) error {
	return &ClusterLostError{Name: a.c.Name, Token: a.granted.Token, Why: why}
}

// end makes the deadlines final; the next one is that to kill. It comes once: set
// anew when it has passed it would run out at once, again and again.
func (a *agent) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.final {
		return
	}
	a.final = true
	if a.c.Sticky { // the time between being told and being killed is the same
		a.sent = procid.SinceBoot() - lease.TimesOf(a.ttl).Tell
	}
	a.timer.Set(a.sent + lease.TimesOf(a.ttl).Kill)
}

// killDue reports whether the command's time is over.
func (a *agent) killDue() bool {
	sent, t := a.times()
	return procid.SinceBoot() >= sent+t.Kill
}

// unheard reports whether something may have been said that was not heard yet: this
// process may have stood still while its lock was renewed. It asks for a second
// look, soon.
func (a *agent) unheard() bool {
	const soon = 10 * time.Millisecond
	a.mu.Lock() // a renewal that comes now sets the timer after us
	defer a.mu.Unlock()
	if tell := a.sent + lease.TimesOf(a.ttl).Tell; procid.SinceBoot() < tell {
		a.again = false
		a.timer.Set(tell)
		return true
	}
	waiting := 0
	if raw, err := a.conn.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { waiting, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	if a.again && waiting == 0 {
		return false
	}
	a.again = true
	a.timer.Set(procid.SinceBoot() + soon)
	return true
}

// watch tells the agent what to stop where this process cannot.
func (a *agent) watch(pid int, start uint64, group *cgroup) {
	if a == nil {
		return
	}
	m := wire.Message{Kind: wire.Tree, PID: pid, Start: start}
	if group != nil {
		m.Cgroup = group.path
	}
	wire.Write(a.conn, m) // an agent that is gone is heard of
}

// longestGoodbye bounds the end of a run whose engine is away, where the time to live
// is long: the agent needs nobody to wait for it.
const longestGoodbye = 30 * time.Second

// release gives the lock back, now that nothing works under it, and waits for that
// as long as it makes sense.
func (a *agent) release(say func(string, ...any)) {
	if a == nil {
		return
	}
	defer a.close()
	if a.granted.Token == 0 || wire.Write(a.conn, wire.Message{Kind: wire.Release}) != nil {
		return
	}
	patience := min(a.granted.TTL, longestGoodbye)
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case m, ok := <-a.heard:
			if ok && m.Kind != wire.Released {
				continue
			}
			if m.Text != "" && !a.c.Sticky {
				say("the lock of the cluster becomes free when its lease runs out: %s", m.Text)
			}
			return
		case <-late.C:
			say("the agent did not confirm within %s that the lock of the cluster was given back", patience)
			return
		}
	}
}

// close lets the agent go: it ends when it has given everything back.
func (a *agent) close() {
	if a == nil {
		return
	}
	a.timer.Stop()
	a.conn.Close()
	if a.untold != nil {
		close(a.untold)
		a.untold = nil
	}
	if a.heard == nil {
		return
	}
	go func() { // a message may be on its way to nobody
		for range a.heard {
		}
	}()
}
