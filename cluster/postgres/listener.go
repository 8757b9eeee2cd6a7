package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgxlisten"
)

// again is how long a connection that hears of releases is gone before another is made: who waits looks meanwhile.
const again = time.Second

// listener hears of releases for all who wait, with one connection that is not of the pool: with one for each the pool
// would soon have none left for renewals.
type listener struct {
	pool    *pgxpool.Pool
	channel string
	ctx     context.Context // ends with Close
	once    sync.Once

	mu      sync.Mutex
	waiting map[string]*hearing // by lock
}

// hearing is what those who wait for one lock hear.
type hearing struct {
	free chan struct{} // closed when the lock may be free
	ears int
}

// hear gives a channel that is closed when a lock may be free. It begins with the first who waits, who has to look once it
// is called.
func (l *listener) hear(name string) (free <-chan struct{}, leave func()) {
	l.once.Do(func() {
		all := &pgxlisten.Listener{Connect: l.connect, ReconnectDelay: again}
		all.Handle(l.channel, l)
		go all.Listen(l.ctx)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.waiting[name]
	if h == nil {
		h = &hearing{free: make(chan struct{})}
		l.waiting[name] = h
	}
	h.ears++
	return h.free, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.ears--; h.ears == 0 && l.waiting[name] == h {
			delete(l.waiting, name)
		}
	}
}

func (l *listener) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := l.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return c.Hijack(), nil
}

// HandleNotification wakes who waits for a lock.
func (l *listener) HandleNotification(_ context.Context, n *pgconn.Notification, _ *pgx.Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake(n.Payload)
	return nil
}

// HandleBacklog wakes all when it has begun to listen: nobody has heard what was said before.
func (l *listener) HandleBacklog(context.Context, string, *pgx.Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.waiting {
		l.wake(name)
	}
	return nil
}

func (l *listener) wake(name string) {
	if h := l.waiting[name]; h != nil {
		close(h.free)
		delete(l.waiting, name)
	}
}
