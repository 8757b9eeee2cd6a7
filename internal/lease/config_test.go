package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

// TestTimes keeps the table of the documentation true.
func TestTimes(t *testing.T) {
	got := lease.TimesOf(15 * time.Second)
	want := lease.Times{
		Renew: 3 * time.Second, Retry: 1500 * time.Millisecond,
		Tell: 9 * time.Second, Kill: 12 * time.Second, Stop: 13500 * time.Millisecond,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestConfig refuses what cannot work, with the sum, and fills in the lock-delay.
func TestConfig(t *testing.T) {
	_, err := lease.New(lease.Config{TTL: 15 * time.Second, Grace: 5 * time.Second}, 0)
	if !errors.Is(err, lease.ErrConfig) || !strings.Contains(err.Error(), "9s (0.60 ttl); with the grace of 5s that makes 14s") {
		t.Errorf("got %v", err)
	}
	for ttl, want := range map[time.Duration]time.Duration{5 * time.Second: 2 * time.Second, 15 * time.Second: 3 * time.Second} {
		if c, err := (lease.Config{TTL: ttl}).Complete(); err != nil || c.Delay != want {
			t.Errorf("ttl %v: delay %v, %v; want %v", ttl, c.Delay, err, want)
		}
	}
}

// TestProven says when an owner may work, and when the engine may give its lock away.
func TestProven(t *testing.T) {
	m, err := lease.New(lease.Config{TTL: 10 * time.Second}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := m.Proven(); ok || at != lease.Never {
		t.Errorf("before the grant: %v, %v", at, ok)
	}
	m.Step(time.Second, lease.Input{Kind: lease.Open})
	m.Step(2*time.Second, lease.Input{Kind: lease.Granted, For: 1})
	if at, ok := m.Proven(); !ok || at != 7*time.Second || m.Expires() != 11*time.Second {
		t.Errorf("live: %v, %v, %v", at, ok, m.Expires())
	}
	m.Step(3*time.Second, lease.Input{Kind: lease.Doubt})
	if _, ok := m.Proven(); ok {
		t.Error("proven in doubt")
	}
}
