package supervise

import (
	"math/rand/v2"
	"time"

	"github.com/solehold/solehold/internal/policy"
	"golang.org/x/sys/unix"
)

// driver runs a machine: it gives it inputs with the time and carries out what
// it wants. It belongs to one goroutine.
type driver struct {
	machine *policy.Machine
	timer   *time.Timer // for the machine's Wake
	do      func(policy.Command)
	pending []policy.Input
	feeding bool
}

// drive makes a machine with what is remembered.
func drive(c policy.Config, remembered policy.Memory, do func(policy.Command)) (driver, error) {
	m, err := policy.New(c, remembered, sinceBoot())
	t := time.NewTimer(time.Hour)
	t.Stop()
	return driver{machine: m, timer: t, do: do}, err
}

// feed gives the machine an input. What comes of its commands are inputs again:
// they wait until all commands of a step are done.
func (d *driver) feed(in policy.Input) {
	d.pending = append(d.pending, in)
	if d.feeding {
		return
	}
	d.feeding = true
	for len(d.pending) > 0 {
		in, d.pending = d.pending[0], d.pending[1:]
		in.Rand = rand.Float64() // starters that failed together must not come back together
		for _, c := range d.machine.Step(sinceBoot(), in) {
			if c.Op == policy.Wake {
				d.timer.Reset(max(0, c.At-sinceBoot()))
				continue
			}
			d.do(c)
		}
	}
	d.feeding = false
}

// sinceBoot is CLOCK_BOOTTIME: nobody can step it, and it goes on while the
// machine sleeps.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
