package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/solehold/solehold/cluster"
)

// glance is the time to live of a session that looks: it has no claims.
const glance = 10 * time.Second

// with opens a session for one request of a person, and ends it.
func (b *Backend) with(ctx context.Context, do func(s *session) error) error {
	opened, err := b.Grant(ctx, glance)
	if err != nil {
		return err
	}
	s, ok := opened.(*session)
	if !ok {
		return nil
	}
	defer s.Revoke(ctx)
	return s.run(ctx, func() error {
		if _, err := s.conn.Sync(b.c.Prefix); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		return do(s)
	})
}

// Look reads the nodes of locks.
func (b *Backend) Look(ctx context.Context, name string) ([]cluster.Seen, error) {
	found := make(chan []cluster.Seen, 1)
	err := b.with(ctx, func(s *session) error {
		names := []string{name}
		if name == "" {
			children, _, err := s.conn.Children(b.c.Prefix)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			names = nil
			for _, c := range children {
				if n, err := cluster.UnescapeName(c); err == nil {
					names = append(names, n)
				}
			}
			slices.Sort(names)
		}
		var all []cluster.Seen
		for _, n := range names {
			seen, there, err := s.seen(n)
			if err != nil {
				return err
			}
			if there {
				all = append(all, seen)
			}
		}
		found <- all
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-found, nil
}

// seen reads one lock. ZooKeeper does not say how long a session still lives.
func (s *session) seen(name string) (seen cluster.Seen, there bool, err error) {
	key := s.b.node(name, "claim")
	claim, stat, err := s.conn.Get(key)
	if err == nil {
		last, _, err := s.conn.Get(s.b.node(name, "last"))
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return seen, false, err
		}
		seen = cluster.SeenOf(name, key, cmp.Or(string(claim), " "), string(last)) // an empty one is somebody else's
		seen.Token, seen.Highest = uint64(stat.Czxid), uint64(stat.Czxid)
		return seen, true, nil
	}
	if !errors.Is(err, zk.ErrNoNode) {
		return seen, false, err
	}
	last, stat, err := s.conn.Get(s.b.node(name, "last"))
	switch {
	case errors.Is(err, zk.ErrNoNode), err == nil && len(last) == 0:
		return seen, false, nil
	case err != nil:
		return seen, false, err
	}
	seen = cluster.SeenOf(name, key, "", string(last))
	seen.Highest = uint64(stat.Mzxid)
	return seen, true, nil
}

// Raise is not possible: a token is the zxid of the whole ensemble.
func (b *Backend) Raise(context.Context, string, uint64) error {
	return fmt.Errorf("zookeeper: %w: they are its zxid", cluster.ErrNoRaise)
}

// Break deletes the node in one transaction with the word about it.
func (b *Backend) Break(ctx context.Context, name string, token uint64, why string) error {
	claim, last := b.node(name, "claim"), b.node(name, "last")
	return b.with(ctx, func(s *session) error {
		beside, before, err := s.conn.Get(last) // first: every later claim and release writes it
		if errors.Is(err, zk.ErrNoNode) {
			return cluster.ErrNotThere
		}
		if err != nil {
			return err
		}
		there, stat, err := s.conn.Get(claim)
		switch {
		case errors.Is(err, zk.ErrNoNode), err == nil && stat.Czxid != int64(token):
			return cluster.ErrNotThere
		case err != nil:
			return err
		}
		left, err := cluster.BrokenRecord(string(there), string(beside), why)
		if err != nil {
			return fmt.Errorf("the node %s: %w", claim, err)
		}
		_, err = s.conn.Multi(
			&zk.SetDataRequest{Path: last, Data: []byte(left), Version: before.Version},
			&zk.DeleteRequest{Path: claim, Version: stat.Version},
		)
		if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
			return cluster.ErrNotThere
		}
		if err == nil {
			r, _ := cluster.ParseRecord(left)
			s.note(name, cluster.LifeOf(r, token, cluster.Broken))
		}
		return err
	})
}
