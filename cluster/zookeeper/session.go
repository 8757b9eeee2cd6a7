package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/solehold/solehold/cluster"
)

// session is one session of ZooKeeper.
type session struct {
	b      *Backend
	conn   *zk.Conn
	dialer *dialer
	ttl    time.Duration
	gone   chan cluster.Claim
	over   chan struct{} // closed at the end
	once   sync.Once
	asked  cluster.Asked
}

// TTL is what the server granted.
func (s *session) TTL() time.Duration { return s.ttl }

// Gone gives claims whose node was seen to change.
func (s *session) Gone() <-chan cluster.Claim { return s.gone }

// quit ends the session. The library waits up to a second for the answer.
func (s *session) quit() {
	s.once.Do(func() {
		close(s.over)
		s.b.keep(s, false)
		s.dialer.end()
		go s.conn.Close()
	})
}

// run does something that the library bounds by no context. Nothing is queued while there is no connection: it would be
// sent when nobody expects it any more.
func (s *session) run(ctx context.Context, do func() error) error {
	if err := s.connected(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return s.plain(err)
	case <-ctx.Done():
		return fmt.Errorf("zookeeper: %w", context.Cause(ctx))
	}
}

// connected waits for a connection. The library tells nobody but the one reader of its events, so it is looked for.
func (s *session) connected(ctx context.Context) error {
	tick := time.NewTicker(max(s.ttl/500, time.Millisecond))
	defer tick.Stop()
	for {
		if _, ended := s.dialer.granted(); ended {
			s.quit()
			return cluster.ErrLeaseGone
		}
		if s.conn.State() == zk.StateHasSession {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("zookeeper: no connection: %w", context.Cause(ctx))
		}
	}
}

// plain makes the errors of the library those of the contract.
func (s *session) plain(err error) error {
	_, ended := s.dialer.granted()
	var held *cluster.HeldError
	switch {
	case err == nil, errors.As(err, &held):
		return err
	case errors.Is(err, zk.ErrSessionExpired) || ended:
		s.quit()
		return cluster.ErrLeaseGone
	}
	return fmt.Errorf("zookeeper: %w", err)
}

// Renew is a transaction that changes nothing. A read would be answered by a follower that has lost its leader, which does
// not hear of the renewal and ends the session; a transaction takes the leader and a quorum. What they say of the node
// does not matter.
func (s *session) Renew(ctx context.Context) ([]string, error) {
	s.dialer.renew()
	return nil, s.run(ctx, func() error {
		_, err := s.conn.Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
		if errors.Is(err, zk.ErrNoAuth) {
			return nil
		}
		return err
	})
}

// errAgain is a claim that somebody else's has crossed.
var errAgain = errors.New("crossed by another claim")

// Claim reads the claim and, when there is none, makes it in one transaction with what it leaves.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	text := s.asked.Ask(r).Record.Text()
	grants := make(chan cluster.Grant, 1)
	err := s.run(ctx, func() error {
		for {
			g, err := s.try(ctx, r, text)
			if errors.Is(err, errAgain) {
				continue
			}
			grants <- g
			return err
		}
	})
	if errors.Is(err, cluster.ErrHeld) {
		s.asked.Leave(r.Nonce, s.ttl)
	}
	if err != nil {
		return cluster.Grant{}, err
	}
	g := <-grants
	s.watch(cluster.Claim{Name: r.Name, Nonce: r.Nonce, Token: g.Token})
	return g, nil
}

func (s *session) try(ctx context.Context, r cluster.Request, text string) (cluster.Grant, error) {
	if ctx.Err() != nil { // nobody awaits this claim any more
		return cluster.Grant{}, context.Cause(ctx)
	}
	claim := s.b.node(r.Name, "claim")
	there, stat, err := s.conn.Get(claim)
	switch {
	case err == nil && string(there) == text && stat.EphemeralOwner == s.conn.SessionID():
		return cluster.Grant{Token: uint64(stat.Czxid), Delay: r.Delay}, nil
	case err == nil:
		return cluster.Grant{}, cluster.HeldBy(r.Name, claim, string(there), uint64(stat.Czxid))
	case !errors.Is(err, zk.ErrNoNode):
		return cluster.Grant{}, err
	}
	return s.make(ctx, r.Name, text, zk.FlagEphemeral)
}

// make makes the claim in one transaction with what it leaves.
func (s *session) make(ctx context.Context, name, text string, flags int32) (cluster.Grant, error) {
	claim, last := s.b.node(name, "claim"), s.b.node(name, "last")
	before, stat, err := s.conn.Get(last)
	if errors.Is(err, zk.ErrNoNode) {
		if err = s.parents(name); err == nil {
			err = errAgain
		}
	}
	if err != nil {
		return cluster.Grant{}, err
	}
	if ctx.Err() != nil {
		return cluster.Grant{}, context.Cause(ctx)
	}
	answer, err := s.conn.Multi(
		&zk.SetDataRequest{Path: last, Data: []byte(text), Version: stat.Version},
		&zk.CreateRequest{Path: claim, Data: []byte(text), Acl: s.b.acl(), Flags: flags},
	)
	switch {
	case errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists):
		return cluster.Grant{}, errAgain
	case err != nil:
		return cluster.Grant{}, err
	}
	g := cluster.GrantAfter(uint64(answer[0].Stat.Mzxid), string(before))
	if l, ok := cluster.LifeBefore(string(before), uint64(stat.Mzxid), g.Token); ok {
		go s.note(name, l)
	}
	return g, nil
}

// Verify asks the leader to bring this server up to date, and reads.
func (s *session) Verify(ctx context.Context, claims []cluster.Claim) ([]string, error) {
	found := make(chan []string, 1)
	err := s.run(ctx, func() error {
		if _, err := s.conn.Sync(s.b.c.Prefix); err != nil {
			return err
		}
		var gone []string
		for _, c := range claims {
			there, stat, err := s.conn.Exists(s.b.node(c.Name, "claim"))
			if err != nil {
				return err
			}
			if !there || stat.Czxid != int64(c.Token) {
				gone = append(gone, c.Nonce)
			}
		}
		found <- gone
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-found, nil
}

// Release deletes the claim if the last claim of all was ours: that is what last says, at a version that nobody has changed.
func (s *session) Release(ctx context.Context, c cluster.Claim, clean bool) error {
	mine, ok := s.asked.Get(c.Nonce)
	if !ok {
		return nil
	}
	err := s.run(ctx, func() error { return s.release(c, mine.Record, clean) })
	if err != nil && !errors.Is(err, cluster.ErrLeaseGone) { // whose claims are gone with it
		return err
	}
	s.asked.Leave(c.Nonce, s.ttl)
	return nil
}

func (s *session) release(c cluster.Claim, record cluster.Record, clean bool) error {
	claim, last := s.b.node(c.Name, "claim"), s.b.node(c.Name, "last")
	if _, err := s.conn.Sync(last); err != nil {
		return err
	}
	there, stat, err := s.conn.Get(last)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return err
	case string(there) != record.Text() || c.Token != 0 && stat.Mzxid != int64(c.Token):
		return nil
	}
	left := record
	left.Ended = clean
	_, err = s.conn.Multi(
		&zk.SetDataRequest{Path: last, Data: []byte(left.Text()), Version: stat.Version},
		&zk.DeleteRequest{Path: claim, Version: -1},
	)
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return nil // it is another's, or gone
	}
	if err == nil && c.Token != 0 {
		s.note(c.Name, cluster.LifeOf(record, c.Token, cluster.Given(clean)))
	}
	return err
}

// watch tells of a change of a claim.
func (s *session) watch(c cluster.Claim) {
	go func() {
		there, stat, events, err := s.conn.ExistsW(s.b.node(c.Name, "claim"))
		if err != nil {
			return // what is not pushed is found by Verify
		}
		if there && stat.Czxid == int64(c.Token) {
			select {
			case e := <-events:
				if e.Type != zk.EventNodeDeleted && e.Type != zk.EventNodeDataChanged {
					return
				}
			case <-s.over:
				return
			}
		}
		s.asked.Leave(c.Nonce, s.ttl)
		select {
		case s.gone <- c:
		case <-s.over:
		}
	}()
}

// Wait returns when the claim is deleted.
func (s *session) Wait(ctx context.Context, held *cluster.HeldError) error {
	watches := make(chan (<-chan zk.Event), 1)
	err := s.run(ctx, func() error {
		there, _, events, err := s.conn.ExistsW(s.b.node(held.Name, "claim"))
		if !there {
			events = nil
		}
		watches <- events
		return err
	})
	if err != nil {
		return err
	}
	events := <-watches
	if events == nil {
		return nil
	}
	select {
	case e := <-events: // deleted or changed, or the session has ended
		return e.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Revoke closes the session, which ends its claims. Without an answer it runs out by itself.
func (s *session) Revoke(ctx context.Context) error {
	err := s.run(ctx, func() error {
		s.dialer.end()
		s.conn.Close()
		return nil
	})
	s.quit()
	if errors.Is(err, cluster.ErrLeaseGone) {
		return nil
	}
	return err
}
