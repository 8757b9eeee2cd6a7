package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/cluster"
)

// TestSystemClock has real timers run out, once for each setting, not before their time, and not when they are stopped.
func TestSystemClock(t *testing.T) {
	c := cluster.SystemClock()
	ran := make(chan time.Duration, 10)
	timer, err := c.Timer(func() { ran <- c.Now() })
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{20 * time.Millisecond, 0, -time.Hour} {
		begin := c.Now()
		timer.Set(begin + time.Hour)
		timer.Set(begin + d)
		if at := <-ran; at < begin+d {
			t.Errorf("ran out at %v, set to %v", at, begin+d)
		}
	}
	timer.Set(c.Now() + 30*time.Millisecond)
	timer.Stop()
	timer.Set(c.Now())
	select {
	case <-ran:
		t.Error("a stopped timer ran out")
	case <-time.After(60 * time.Millisecond):
	}
	if c.Wall() <= 0 {
		t.Error(c.Wall())
	}
}

func TestProcessClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster.NewProcessClock()
		ran := make(chan time.Duration, 1)
		timer, err := c.Timer(func() { ran <- c.Now() })
		if err != nil {
			t.Fatal(err)
		}
		timer.Set(5 * time.Second)
		if at := <-ran; at != 5*time.Second || c.Wall() != at {
			t.Error(at, c.Wall())
		}
		timer.Set(6 * time.Second)
		timer.Stop()
		timer.Set(7 * time.Second)
		select {
		case at := <-ran:
			t.Errorf("a stopped timer ran out at %v", at)
		case <-time.After(time.Minute):
		}
	})
}
