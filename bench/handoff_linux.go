package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/peers"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
)

// others returns all peers but those named, in their order.
func others(without ...string) []peers.Peer {
	return slices.DeleteFunc(peers.All(), func(p peers.Peer) bool {
		return p.Name == peers.SoleholdDirect || slices.Contains(without, p.Name)
	})
}

// wantsAny says whether rows of a part are asked for.
func (b *bench) wantsAny(prefix string) bool {
	rows := append(peers.All(), peers.Peer{Name: "floor"}, peers.Peer{Name: "waiter"}, peers.Peer{Name: "holder"})
	return slices.ContainsFunc(rows, func(p peers.Peer) bool { return b.wants(prefix + p.Name) })
}

// relay is a holder and a waiter of one peer.
type relay struct {
	peer           peers.Peer
	dir            string
	holder, waiter *helper.Proc
	kill           bool
}

// handoff measures how long it takes from a release, or from the death of the
// holder, until a waiting process has the lock. All holders hold and all waiters
// wait at the same time; then one after another is released, after a pause as
// long as the slowest poll at most: without it the end of one poll would set the
// phase of the next. Each holds for more than the 50 ms after which solehold
// begins to check itself.
func (b *bench) handoff(kill bool) error {
	prefix := "handoff/release/"
	if kill {
		prefix = "handoff/kill/"
	}
	if !b.wantsAny(prefix) {
		return nil
	}
	relays, err := b.relays(prefix, kill)
	defer func() {
		for _, r := range relays {
			r.close()
		}
	}()
	if err != nil {
		return err
	}
	rounds := 40
	if b.quick {
		rounds = 6
	}
	all := make([]turn.Series, len(relays))
	for range rounds {
		if err := pass(relays, all); err != nil {
			return err
		}
	}
	for i, other := range all[1:] {
		figure, ratio := report.FigureOf(other, true), all[0].Over(other)
		b.group.Rows = append(b.group.Rows, report.Row{
			Key: prefix + relays[i+1].peer.Name, What: waitName(relays[i+1].peer.Name), Unit: "ns",
			Ours: report.FigureOf(all[0], true), Other: &figure, Ratio: &ratio,
		})
	}
	return nil
}

// relays starts the waiters, ours first, and for releases the holders.
func (b *bench) relays(prefix string, kill bool) ([]*relay, error) {
	var relays []*relay
	for _, p := range others("lockedfile", "juju/fslock", "nightlyone") { // they wait in flock(2), or not at all
		dir, err := b.place(prefix + p.Name)
		if err != nil {
			return relays, err
		}
		r := &relay{peer: p, dir: dir, kill: kill}
		relays = append(relays, r)
		if r.waiter, err = helper.Start(p.Name, dir); err != nil {
			return relays, err
		}
	}
	return relays, nil
}

func waitName(peer string) string {
	switch peer {
	case "flock(2)":
		return "flock(2), blocking"
	case "gofrs/flock":
		return "gofrs/flock TryLockContext, 10 ms"
	case "gofrs/flock 50 ms":
		return "gofrs/flock TryLockContext, 50 ms"
	case "bbolt":
		return "bbolt Open with Timeout (polls every 50 ms)"
	case peers.SoleholdSync:
		return "solehold that syncs its record (the default)"
	}
	return peer
}

// pass hands each lock over once.
func pass(relays []*relay, all []turn.Series) error {
	for _, r := range relays {
		if err := r.begin(); err != nil {
			return fmt.Errorf("%s: %w", r.peer.Name, err)
		}
	}
	time.Sleep(60 * time.Millisecond)
	for i, r := range relays {
		time.Sleep(rand.N(50 * time.Millisecond))
		ns, err := r.pass()
		if err != nil {
			return fmt.Errorf("%s: %w", r.peer.Name, err)
		}
		all[i].Samples = append(all[i].Samples, ns)
	}
	return nil
}

// begin lets the holder hold and the waiter wait.
func (r *relay) begin() (err error) {
	if r.holder == nil {
		if r.holder, err = helper.Start(r.peer.Name, r.dir); err != nil {
			return err
		}
	}
	if _, err := r.holder.Do("try"); err != nil {
		return err
	}
	return r.waiter.Tell("wait")
}

// pass ends the hold and returns how long the waiter took to have it, in ns.
func (r *relay) pass() (float64, error) {
	free, err := r.end()
	if err != nil {
		return 0, err
	}
	had, err := r.waiter.Answer()
	if err != nil {
		return 0, err
	}
	if r.kill {
		r.holder.Close()
		r.holder = nil
	}
	_, err = r.waiter.Do("drop")
	return float64(had - free), err
}

func (r *relay) end() (int64, error) {
	if r.kill {
		return r.holder.Kill()
	}
	return r.holder.Do("drop")
}

func (r *relay) close() {
	for _, p := range []*helper.Proc{r.holder, r.waiter} {
		if p != nil {
			p.Close()
		}
	}
}
