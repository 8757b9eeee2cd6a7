package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// Acquire is solehold.Acquire, and tells how long that took, whether it had to
// wait or was refused, and until when the directory was held. Lock and error are
// those of solehold.Acquire.
func (c *Collector) Acquire(ctx context.Context, dir string, o *solehold.Options) (*solehold.Lock, error) {
	a := &attempt{c: c}
	mine := c.Options(o)
	a.listen(mine)
	start := time.Now()
	lock, err := solehold.Acquire(ctx, dir, mine)
	a.stopWaiting()
	var held *solehold.HeldError
	if errors.As(err, &held) && !held.Self {
		c.at(held.Path, func(d *directory) { d.Refusals++ })
	}
	if err != nil || a.taken.Kind == "" {
		return lock, err // or it is a lock that this program had
	}
	c.at(a.dir, func(d *directory) { d.Acquire.Observe(time.Since(start).Seconds(), c.o.Buckets) })
	context.AfterFunc(lock.Context(), func() { c.ended(a.dir, lock.Token()) })
	if a.waited {
		go a.handOff(lock)
	}
	return lock, nil
}

// ended takes note that a lock is not held any more, which the library does not tell
// of one that joined the holder above it.
func (c *Collector) ended(dir string, token uint64) {
	c.at(dir, func(d *directory) {
		if d.Token == token {
			d.Held = false
		}
	})
}

// attempt is one call of Acquire. What the library calls it calls one after the
// other, before it returns.
type attempt struct {
	c      *Collector
	dir    string // where it was taken
	taken  solehold.Event
	waits  string // the directory that it waits for
	waited bool
}

func (a *attempt) listen(o *solehold.Options) {
	onEvent, onWait := o.OnEvent, o.OnWait
	o.OnEvent = func(dir string, e solehold.Event) {
		if e.Kind == journal.Acquired && a.taken.Kind == "" {
			a.dir, a.taken = dir, e
		}
		onEvent(dir, e)
	}
	o.OnWait = func(h *solehold.HeldError) {
		if !a.waited {
			a.waited, a.waits = true, h.Path
			a.c.at(h.Path, func(d *directory) { d.Waiters++ })
		}
		if onWait != nil {
			onWait(h)
		}
	}
}

func (a *attempt) stopWaiting() {
	if a.waits != "" {
		a.c.at(a.waits, func(d *directory) { d.Waiters-- })
	}
}

// handOff takes note of how long nobody had the directory. The history knows when
// the one before let go.
func (a *attempt) handOff(lock *solehold.Lock) {
	root, err := lock.StateRoot()
	if err != nil {
		return
	}
	defer root.Close()
	f, err := root.Open(journal.Name)
	if err != nil {
		return
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return
	}
	const enough = 16 << 10 // some events come between
	text := make([]byte, min(size, enough))
	n, _ := f.ReadAt(text, size-int64(len(text)))
	if took, ok := sinceRelease(text[:n], a.taken); ok {
		a.c.at(a.dir, func(d *directory) { d.HandOff.Observe(took.Seconds(), a.c.o.Buckets) })
	}
}

// sinceRelease is the time between the end of the owner before and an acquisition.
func sinceRelease(history []byte, taken solehold.Event) (time.Duration, bool) {
	lines := bytes.Split(history, []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		var e solehold.Event
		if json.Unmarshal(lines[i], &e) != nil || e.Kind != journal.Released || e.Seq > taken.Seq {
			continue
		}
		took := time.Duration(taken.Seq - e.Seq)
		return took, e.Boot == taken.Boot && e.Token < taken.Token && took < time.Minute
	}
	return 0, false
}
