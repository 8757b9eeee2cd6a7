package cluster

import (
	"sync"
	"time"
)

// Clock is what deadlines run on.
type Clock interface {
	// Now is the time since some beginning. It counts suspended time, and nobody can set it.
	Now() time.Duration
	// Wall is the time of day, from any beginning: a jump ahead of Now shows that both clocks may have stood still.
	Wall() time.Duration
	// Timer makes a timer that is not set. When it runs out f is called on a goroutine of its own.
	Timer(f func()) (Timer, error)
}

// Timer calls its function once for each setting.
type Timer interface {
	// Set replaces the setting before. A time that has passed runs out at once. After Stop it does nothing.
	Set(at time.Duration)
	// Stop ends the timer. A call that has begun may still run.
	Stop()
}

// ProcessClock counts from its making: the larger of what Go's monotonic clock and the time of day have advanced, because
// the monotonic one stands still in a suspend on some systems. Setting the time of day ahead makes leases end early, never
// late. Its timers are Go's: after a suspend they are late by up to what was left of them, which Check is not.
type ProcessClock struct {
	mu    sync.Mutex
	last  time.Time
	total time.Duration
}

// NewProcessClock makes a clock that stands at 0.
func NewProcessClock() *ProcessClock { return &ProcessClock{last: time.Now()} }

// Now is the time since the making.
func (c *ProcessClock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.total += max(now.Sub(c.last), now.Round(0).Sub(c.last.Round(0)), 0)
	c.last = now
	return c.total
}

// Wall is the same as Now: the time of day is in it.
func (c *ProcessClock) Wall() time.Duration { return c.Now() }

// Timer makes a timer.
func (c *ProcessClock) Timer(f func()) (Timer, error) {
	t := time.AfterFunc(time.Hour, f)
	t.Stop()
	return &processTimer{c: c, t: t}, nil
}

type processTimer struct {
	c *ProcessClock
	t *time.Timer

	mu      sync.Mutex
	stopped bool
}

func (t *processTimer) Set(at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.t.Reset(max(0, at-t.c.Now()))
	}
}

func (t *processTimer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.t.Stop()
}
