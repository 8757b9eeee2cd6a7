package partition

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/go-zookeeper/zk"
	redis "github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/solehold/solehold/bench/internal/helper"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// peer has a holder that is told, and a next one that takes the lock. Both are
// closed by what they give back.
type peer struct {
	hold func(ctx context.Context, addr string, t trial) (told <-chan int64, end func(), err error)
	take func(ctx context.Context, addr string, t trial) (taken <-chan int64, end func())
}

// cutOff is the trial of a peer.
func (p peer) cutOff(ctx context.Context, t trial) (out outcome, err error) {
	told, end, err := p.hold(ctx, t.wire.Addr(), t)
	if err != nil {
		return out, err
	}
	defer end()
	defer t.wire.Heal()
	taken, end := p.take(ctx, t.server, t)
	defer end()
	t.cut()
	if out.given, err = await(ctx, "given to the next", taken); err != nil {
		return out, err
	}
	out.told, err = await(ctx, "told", told)
	return out, err
}

func (p peer) side(name, module string) side {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				version = m.Path + " " + m.Version
			}
		}
	}
	return side{name: name, version: version, trial: p.cutOff}
}

// taken gives the time at which the next one has the lock, and how to close it.
func taken(lock func() (end func(), err error)) (at <-chan int64, end func()) {
	done, ends := make(chan int64, 1), make(chan func(), 1)
	go func() {
		end, err := lock()
		if err == nil {
			done <- helper.Now()
		}
		ends <- end
	}()
	return done, func() {
		select {
		case end := <-ends:
			if end != nil {
				end()
			}
		default: // it was never had, and ends with this process
		}
	}
}

// session is etcd's own.
func session() side {
	lock := func(ctx context.Context, addr string, t trial) (*concurrency.Session, func(), error) {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
		if err != nil {
			return nil, nil, err
		}
		s, err := concurrency.NewSession(c, concurrency.WithTTL(int(t.ttl/time.Second)))
		if err == nil {
			err = concurrency.NewMutex(s, "/peer/"+t.lock).Lock(ctx)
		}
		return s, func() { c.Close() }, err
	}
	return peer{
		hold: func(ctx context.Context, addr string, t trial) (<-chan int64, func(), error) {
			s, end, err := lock(ctx, addr, t)
			if err != nil {
				return nil, nil, err
			}
			return first(s.Done()), end, nil
		},
		take: func(ctx context.Context, addr string, t trial) (<-chan int64, func()) {
			return taken(func() (func(), error) {
				_, end, err := lock(ctx, addr, t)
				return end, err
			})
		},
	}.side("concurrency.Session, Mutex", "go.etcd.io/etcd/client/v3")
}

// rueidis is rueidislock with one server.
func rueidis() side {
	lock := func(ctx context.Context, addr string, t trial) (context.Context, func(), error) {
		l, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: redis.ClientOption{InitAddress: []string{addr}}, KeyValidity: t.ttl, KeyMajority: 1,
		})
		if err != nil {
			return nil, nil, err
		}
		held, _, err := l.WithContext(ctx, t.lock)
		return held, l.Close, err
	}
	return peer{
		hold: func(ctx context.Context, addr string, t trial) (<-chan int64, func(), error) {
			held, end, err := lock(ctx, addr, t)
			if err != nil {
				return nil, nil, err
			}
			return first(held.Done()), end, nil
		},
		take: func(ctx context.Context, addr string, t trial) (<-chan int64, func()) {
			return taken(func() (func(), error) {
				_, end, err := lock(ctx, addr, t)
				return end, err
			})
		},
	}.side("rueidislock", "github.com/redis/rueidis")
}

// zooKeeper is the client's Lock, whose holder hears of it by the events of its
// connection.
func zooKeeper() side {
	lock := func(addr string, t trial) (<-chan zk.Event, func(), error) {
		c, events, err := zk.Connect([]string{addr}, t.ttl, zk.WithLogInfo(false), zk.WithLogger(silent{}))
		if err != nil {
			return nil, nil, err
		}
		return events, c.Close, zk.NewLock(c, "/peer/"+t.lock, zk.WorldACL(zk.PermAll)).Lock()
	}
	return peer{
		hold: func(_ context.Context, addr string, t trial) (<-chan int64, func(), error) {
			events, end, err := lock(addr, t)
			if err != nil {
				return nil, nil, err
			}
			lost := make(chan struct{})
			go func() {
				defer close(lost)
				for e := range events {
					if e.State == zk.StateDisconnected || e.State == zk.StateExpired {
						return
					}
				}
			}()
			return first(lost), end, nil
		},
		take: func(_ context.Context, addr string, t trial) (<-chan int64, func()) {
			return taken(func() (func(), error) {
				_, end, err := lock(addr, t)
				return end, err
			})
		},
	}.side("zk.Lock, StateDisconnected", "github.com/go-zookeeper/zk")
}

// silent drops what a client logs.
type silent struct{}

func (silent) Printf(string, ...any) {}
