package agent

import (
	"io"
	"sync"

	"github.com/solehold/solehold/internal/agent/wire"
)

// outbox sends messages without holding up who says them: the run may be frozen.
type outbox struct {
	mu     sync.Mutex
	closed bool // the client may still call
	queue  chan wire.Message
	done   chan struct{}
}

func newOutbox(w io.Writer) *outbox {
	const most = 64
	o := &outbox{queue: make(chan wire.Message, most), done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for m := range o.queue {
			if wire.Write(w, m) != nil {
				break
			}
		}
		for range o.queue { // nobody reads any more
		}
	}()
	return o
}

// say queues a message. What does not fit is lost: who does not read for so long has lost more than that.
func (o *outbox) say(m wire.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	select {
	case o.queue <- m:
	default:
	}
}

// flush ends it when all is sent. What is said afterwards is lost.
func (o *outbox) flush() {
	o.mu.Lock()
	o.closed = true
	close(o.queue)
	o.mu.Unlock()
	<-o.done
}
