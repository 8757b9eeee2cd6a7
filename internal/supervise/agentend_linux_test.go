//go:build !solehold_portable

package supervise

import (
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/procid"
)

// timed is an agent that is gone, whose lock was confirmed at a time for so long.
func timed(t *testing.T, sent, ttl time.Duration) *agent {
	t.Helper()
	a := &agent{sent: sent, ttl: ttl, due: make(chan struct{}, 1)}
	var err error
	if a.timer, err = cluster.SystemClock().Timer(a.ring); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.timer.Stop)
	return a
}

// A look that finds the lock renewed meanwhile leaves the deadline set: nobody may be left who sets it.
func TestTheDeadlineStaysSet(t *testing.T) {
	t.Parallel()
	a := timed(t, procid.SinceBoot(), time.Second)
	a.timer.Set(procid.SinceBoot()) // the second look, for which the renewal came just in time
	<-a.due
	a.unheard()
	select {
	case <-a.due:
	case <-time.After(10 * time.Second):
		t.Fatal("the deadline was forgotten")
	}
	for a.unheard() {
		<-a.due
	}
	if a.check() == nil {
		t.Error("it counts as confirmed")
	}
}

// A command that does not die must not keep its run busy: the time to kill comes once, and kills are repeated at their own
// pace.
func TestTheTimeToKillComesOnce(t *testing.T) {
	t.Parallel()
	a := timed(t, 0, time.Second) // last confirmed when the machine was booted
	a.end()
	<-a.due
	if !a.killDue() {
		t.Fatal("not due")
	}
	a.end() // as each kill does
	select {
	case <-a.due:
		t.Error("it came again")
	case <-time.After(50 * time.Millisecond):
	}
}
