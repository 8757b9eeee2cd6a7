package agent

import (
	"io"
	"slices"
	"sync"
	"time"

	"github.com/solehold/solehold/internal/agent/wire"
)

// outbox sends messages without holding up who says them: the run may be frozen. Of the acknowledgements only the newest
// waits, since it says all that those before it said: a run that wakes up after an hour hears that its lock was renewed.
type outbox struct {
	mu     sync.Mutex
	more   sync.Cond // of queue and closed
	closed bool      // the client may still call
	queue  []wire.Message
	done   chan struct{}
}

func newOutbox(w io.Writer) *outbox {
	o := &outbox{done: make(chan struct{})}
	o.more.L = &o.mu
	go o.send(w)
	return o
}

// send writes what is said, until nobody reads any more.
func (o *outbox) send(w io.Writer) {
	defer close(o.done)
	for {
		m, ok := o.next()
		if !ok || wire.Write(w, m) != nil {
			return
		}
	}
}

// next waits for a message; there is none any more when all is sent after the end.
func (o *outbox) next() (m wire.Message, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.closed {
		o.more.Wait()
	}
	if len(o.queue) == 0 {
		return m, false
	}
	m, o.queue = o.queue[0], o.queue[1:]
	return m, true
}

// say queues a message. What does not fit is lost: who does not read for so long has lost more than that.
func (o *outbox) say(m wire.Message) {
	const most = 64
	o.mu.Lock()
	defer o.mu.Unlock()
	if m.Kind == wire.Acked {
		o.queue = slices.DeleteFunc(o.queue, func(q wire.Message) bool { return q.Kind == wire.Acked })
	}
	if o.closed || len(o.queue) == most {
		return
	}
	o.queue = append(o.queue, m)
	o.more.Signal()
}

// goodbye is how long the last words may take: who does not read them holds up nobody.
const goodbye = 10 * time.Second

// flush ends it when all is sent. What is said afterwards is lost.
func (o *outbox) flush() {
	o.mu.Lock()
	o.closed = true
	o.more.Signal()
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-time.After(goodbye):
	}
}
