package zookeeper

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/solehold/solehold/cluster"
)

// noteTries is how often a life is written where another writes too.
const noteTries = 5

// note adds a life to the node of all of them, a line each, and leaves out the oldest ones. It is a label: that it cannot
// be written changes nothing.
func (s *session) note(name string, l cluster.Life) {
	node := s.b.node(name, "lives")
	for range noteTries {
		text, stat, err := s.conn.Get(node)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			_, err = s.conn.Create(node, []byte(l.Text()), 0, s.b.acl())
		case err == nil:
			lines := append(strings.Split(string(text), "\n"), l.Text())
			lines = lines[max(0, len(lines)-cluster.LivesKept):]
			_, err = s.conn.Set(node, []byte(strings.Join(lines, "\n")), stat.Version)
		}
		if !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) {
			return
		}
	}
}

// Lives reads the node of the lives of a lock.
func (b *Backend) Lives(ctx context.Context, name string) ([]cluster.Life, error) {
	found := make(chan []cluster.Life, 1)
	err := b.with(ctx, func(s *session) error {
		text, _, err := s.conn.Get(b.node(name, "lives"))
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		found <- cluster.ReadLives(strings.Split(string(text), "\n"))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-found, nil
}
