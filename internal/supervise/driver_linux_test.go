//go:build !solehold_portable

package supervise_test

import (
	"testing"
	"time"

	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/supervise"
)

// machine is a driven service: a clock of its own, a machine that may sleep, and
// what the policy asked for.
type machine struct {
	t           *testing.T
	boot, awake time.Duration
	d           *supervise.Driver
	asked       map[policy.Op]policy.Command // the last of each
	count       map[policy.Op]int
}

// upAndProbed is a service whose child is up, with a probe each second that must fail
// twice, and for a second.
func upAndProbed(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, boot: time.Hour, awake: time.Minute, asked: map[policy.Op]policy.Command{}, count: map[policy.Op]int{}}
	c := policy.Config{
		HasHealth: true, Health: policy.Schedule{Period: time.Second, Timeout: time.Second, FailureThreshold: 2}, MinFailing: time.Second,
	}
	d, err := supervise.NewDriver(func() (time.Duration, time.Duration) { return m.boot, m.awake }, c, func(c policy.Command) {
		m.asked[c.Op] = c
		m.count[c.Op]++
	})
	if err != nil {
		t.Fatal(err)
	}
	m.d = d
	d.Feed(policy.Input{Kind: policy.Begin})
	d.Feed(policy.Input{Kind: policy.ChildStarted, For: m.asked[policy.Start].ID})
	return m
}

// passes lets time pass, asleep or not.
func (m *machine) passes(d time.Duration, asleep bool) {
	m.boot += d
	if !asleep {
		m.awake += d
	}
}

// fails answers the round that is due with a failure.
func (m *machine) fails() {
	m.d.Feed(policy.Input{Kind: policy.Tick})
	m.d.Feed(policy.Input{Kind: policy.ProbeResult, For: m.asked[policy.Probe].ID, Verdict: policy.Fail})
}

// Two failing rounds make the service unhealthy. When the machine has slept between
// them they do not: what failed then says nothing about the service.
func TestSleepIsAGap(t *testing.T) {
	for name, c := range map[string]struct {
		asleep    bool
		unhealthy int
	}{
		"awake":  {false, 1},
		"asleep": {true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := upAndProbed(t)
			m.fails()
			m.passes(1500*time.Millisecond, c.asleep) // less than would be noticed as a late round
			m.fails()
			if got := m.count[policy.MarkUnhealthy]; got != c.unhealthy {
				t.Errorf("unhealthy %d times, want %d", got, c.unhealthy)
			}
		})
	}
}

// A gap is one gap: the rounds after it count again.
func TestSleepIsOneGap(t *testing.T) {
	m := upAndProbed(t)
	m.passes(30*time.Second, true)
	for range 3 {
		m.fails()
		m.passes(time.Second, false)
	}
	if m.count[policy.MarkUnhealthy] != 1 {
		t.Errorf("unhealthy %d times after three failing rounds", m.count[policy.MarkUnhealthy])
	}
}

// Clocks that are read one after the other, or are slewed, are no gap.
func TestSlackIsNoGap(t *testing.T) {
	m := upAndProbed(t)
	m.fails()
	m.passes(900*time.Millisecond, true)
	m.passes(300*time.Millisecond, false)
	m.fails()
	if m.count[policy.MarkUnhealthy] != 1 {
		t.Error("a second that went missing was taken for a sleep")
	}
}
