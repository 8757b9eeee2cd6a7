package agent

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/agent/wire"
)

// A run that was frozen for long hears the newest acknowledgement and the loss, however many came before.
func TestOutboxOfAFrozenRun(t *testing.T) {
	t.Parallel()
	run, ours := net.Pipe() // which has no room at all
	o := newOutbox(ours)
	const acks = 1000
	for i := range acks {
		o.say(wire.Message{Kind: wire.Acked, Sent: time.Duration(i + 1), TTL: time.Second})
	}
	o.say(wire.Message{Kind: wire.Told, Text: "why"})
	go func() {
		o.flush()
		ours.Close()
	}()
	var newest time.Duration
	var heard []wire.Kind
	for r := wire.NewReader(run); ; {
		m, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		newest = max(newest, m.Sent)
		heard = append(heard, m.Kind)
	}
	if newest != acks || heard[len(heard)-1] != wire.Told || len(heard) > 3 { // one may have been on its way
		t.Errorf("acknowledged %d of %d; heard %q", newest, acks, heard)
	}
}

// Who says something is never held up, also when nobody reads; the end comes when nobody can.
func TestOutboxOfNobody(t *testing.T) {
	t.Parallel()
	run, ours := net.Pipe()
	o := newOutbox(ours)
	for range 1000 {
		o.say(wire.Message{Kind: wire.Waiting})
	}
	run.Close()
	o.flush()
	o.say(wire.Message{Kind: wire.Told}) // the client may still call
}
