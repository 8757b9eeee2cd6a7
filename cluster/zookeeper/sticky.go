package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
	"github.com/solehold/solehold/cluster"
)

// Stick makes a node that no session ends, in the transaction of a claim. The session that asks is for this request.
func (b *Backend) Stick(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	text := cluster.RecordOf(r).Text()
	grants := make(chan cluster.Grant, 1)
	err := b.with(ctx, func(s *session) error {
		for {
			g, err := s.stick(ctx, r, text)
			if errors.Is(err, errAgain) {
				continue
			}
			grants <- g
			return err
		}
	})
	if err != nil {
		return cluster.Grant{}, err
	}
	return <-grants, nil
}

func (s *session) stick(ctx context.Context, r cluster.Request, text string) (cluster.Grant, error) {
	claim := s.b.node(r.Name, "claim")
	if ctx.Err() != nil { // nobody awaits this claim any more
		return cluster.Grant{}, context.Cause(ctx)
	}
	there, stat, err := s.conn.Get(claim)
	switch {
	case err == nil:
		return cluster.StuckBy(r, claim, string(there), uint64(stat.Czxid))
	case !errors.Is(err, zk.ErrNoNode):
		return cluster.Grant{}, err
	}
	return s.make(ctx, r.Name, text, 0)
}

// Note writes the node beside a claim, at the version that was read before the claim was seen: every claim writes it.
func (b *Backend) Note(ctx context.Context, c cluster.Claim, from, to string) error {
	claim, last := b.node(c.Name, "claim"), b.node(c.Name, "last")
	return b.with(ctx, func(s *session) error {
		note, before, err := s.conn.Get(last)
		if errors.Is(err, zk.ErrNoNode) {
			return cluster.ErrNotThere
		}
		if err != nil {
			return err
		}
		there, stat, err := s.conn.Get(claim)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		record, bad := cluster.ParseRecord(string(there))
		if err != nil || bad != nil || stat.Czxid != int64(c.Token) || record.Nonce != c.Nonce || string(note) != from {
			return cluster.ErrNotThere
		}
		_, err = s.conn.Multi(
			&zk.SetDataRequest{Path: last, Data: []byte(to), Version: before.Version},
			&zk.CheckVersionRequest{Path: claim, Version: stat.Version},
		)
		if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
			return cluster.ErrNotThere
		}
		return err
	})
}
