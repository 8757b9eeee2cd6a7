package supervise

import (
	"fmt"
	"sync"
	"time"
)

const (
	// tailSize is how much of the end of the output is kept.
	tailSize = 64 << 10
	// stall is how long the command waits for a reader of its output that takes
	// nothing at all. After that its output is dropped until the reader goes on:
	// a service must not hang because of its log.
	stall = time.Second
	// drain is how long the last output is waited for at the end.
	drain = 2 * time.Second
)

// tail keeps the last bytes of what it is given.
type tail struct {
	mu   sync.Mutex
	ring []byte
	next int // where the ring is written, once it is full
}

// add is called with mu locked.
func (t *tail) add(text []byte) {
	text = text[max(0, len(text)-tailSize):]
	if room := tailSize - len(t.ring); room > 0 {
		n := min(room, len(text))
		t.ring = append(t.ring, text[:n]...)
		text = text[n:]
	}
	for len(text) > 0 {
		n := copy(t.ring[t.next:], text)
		t.next = (t.next + n) % tailSize
		text = text[n:]
	}
}

func (t *tail) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(append([]byte(nil), t.ring[t.next:]...), t.ring[:t.next]...)
}

// gap tells of what was dropped; empty where nothing was.
func gap(dropped int64) []byte {
	if dropped == 0 {
		return nil
	}
	return fmt.Appendf(nil, "\nsolehold: %d bytes of output are missing here: nobody read them\n", dropped)
}
