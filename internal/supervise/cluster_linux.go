//go:build !solehold_portable

package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/journal"
)

// takeCluster takes the lock of the cluster. On an error nothing is held there, and
// the directory is still ours.
func (r *runner) takeCluster(ctx context.Context) error {
	if r.c.Cluster == nil {
		return nil
	}
	seen, err := openSeen(r)
	if err != nil {
		return err
	}
	defer seen.state.Close()
	noteEngine(seen.state, *r.c.Cluster)
	state := r.c.Options.StateDir
	if state != "" { // the agent of a host works elsewhere
		if state, err = filepath.Abs(state); err != nil {
			return err
		}
	}
	host, _ := os.Hostname()
	ask := wire.Message{
		Info:  fmt.Sprintf("%s on host %s, pid %d, %s", r.lock.Name(), host, os.Getpid(), r.lock.Dir()),
		Grace: r.c.Grace, Wait: r.c.Options.Wait, Floor: seen.token, Dir: r.lock.Dir(), State: state,
	}
	if ask.Sticky, err = r.sticky(seen); err != nil {
		return err
	}
	a, err := newAgent(*r.c.Cluster)
	if err != nil {
		return &ClusterError{wire.Away, fmt.Sprintf("%s cannot be had: %v", r.c.Cluster.keeper(), err)}
	}
	err = r.stuck(seen, ask.Sticky, a.acquire(ctx, ask, r.c.patience(), r.c.Say))
	if err == nil {
		err = r.had(seen, a)
	}
	if err == nil {
		g := a.granted
		err = r.lock.SetCluster(solehold.Cluster{Engine: g.Engine, Key: g.Key, Token: g.Token, Sticky: a.c.Sticky})
	}
	if err != nil {
		a.release(r.c.Say)
		return err
	}
	r.agent = a
	if !a.c.Sticky {
		a.tell(r)
	}
	r.log(solehold.Event{Kind: journal.Acquired, Detail: journal.OfCluster + ": " + r.clusterPlace()})
	return nil
}

// patience is how long an answer may take; 0 is without limit.
func (c Config) patience() time.Duration {
	switch t := c.Options.Timeout; {
	case t == 0:
		return solehold.DefaultTimeout / 20 * 19 // the rest is for us
	default:
		return max(0, t/20*19)
	}
}

func (r *runner) clusterPlace() string {
	g := r.agent.granted
	kind := ""
	if r.agent.c.Sticky {
		kind = "sticky, "
	}
	return fmt.Sprintf("%s %s, %stoken %d", g.Engine, g.Key, kind, g.Token)
}

// fromAgent is what is heard of the agent; nothing where there is none.
func (r *runner) fromAgent() (heard <-chan wire.Message, due <-chan struct{}) {
	if r.agent == nil {
		return nil, nil
	}
	return r.agent.heard, r.agent.due
}

// hear takes a message of the agent, or its end.
func (r *runner) hear(m wire.Message, ok bool) {
	switch {
	case !ok && r.agent.c.Sticky:
		r.agent.heard = nil
		r.loseCluster("its agent has ended, so nobody would hear of a break; the claim stays")
	case !ok:
		r.agent.heard = nil
		r.loseCluster("its agent has ended, so nobody renews it")
	case m.Kind == wire.Settled:
		r.settled()
	case m.Kind == wire.Told:
		r.forget()
		r.loseCluster(m.Text)
	case m.Kind == wire.Kill:
		r.killLost()
	}
}

// deadlineOfAgent is that of this process itself, which needs no agent: it knows
// when the last acknowledged renewal was sent.
func (r *runner) deadlineOfAgent() {
	switch {
	case r.lost == nil && r.agent.unheard():
	case r.agent.killDue():
		r.killLost()
	default:
		r.loseCluster(unconfirmed)
	}
}

// heed takes what the agent has said before it killed the command: the end may be seen
// sooner than its reason.
func (r *runner) heed() {
	const most = 200 * time.Millisecond
	heard, _ := r.fromAgent()
	if heard == nil {
		return
	}
	for late := time.After(most); r.lost == nil; {
		select {
		case m, ok := <-heard:
			r.hear(m, ok)
			if !ok {
				return
			}
		case <-late:
			return
		}
	}
}

// loseCluster stops the command while the lock is surely nobody else's.
func (r *runner) loseCluster(why string) {
	r.agent.end()
	if r.lost != nil {
		return
	}
	r.lost = r.agent.lost(why)
	r.c.Say("%v; stopping the command", r.lost)
	r.log(solehold.Event{Kind: journal.Lost, Detail: journal.OfCluster + ": " + r.clusterPlace() + ": " + why})
	r.askStop(r.c.StopSignal, "the lock of the cluster was lost")
}

// killLost kills what has not ended: its time is over.
func (r *runner) killLost() {
	if r.lost == nil && r.agent.c.Sticky {
		return // it has no deadline
	}
	r.loseCluster(unconfirmed)
	if r.child != nil {
		r.kill()
	}
}
