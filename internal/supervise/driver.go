package supervise

import (
	"math/rand/v2"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

// driver runs a machine: it gives it inputs with the time and carries out what
// it wants. It belongs to one goroutine.
type driver struct {
	machine *policy.Machine
	timer   *time.Timer // for the machine's Wake
	do      func(policy.Command)
	pending []policy.Input
	feeding bool
	clocks  func() (boot, awake time.Duration)
	slept   time.Duration // what the machine has slept through since it was booted
}

// sleepSlack is how far the two clocks may be apart because they are read one
// after the other.
const sleepSlack = time.Second

// drive makes a machine with what is remembered.
func drive(c policy.Config, remembered policy.Memory, do func(policy.Command)) (driver, error) {
	return driveBy(systemClocks, c, remembered, do)
}

func driveBy(clocks func() (boot, awake time.Duration), c policy.Config, remembered policy.Memory, do func(policy.Command)) (driver, error) {
	boot, awake := clocks()
	m, err := policy.New(c, remembered, boot)
	t := time.NewTimer(time.Hour)
	t.Stop()
	return driver{machine: m, timer: t, do: do, clocks: clocks, slept: boot - awake}, err
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
		now, awake := d.clocks()
		if slept := now - awake; slept-d.slept > sleepSlack {
			d.slept = slept
			d.step(now, policy.Input{Kind: policy.ClockGap}) // before whatever came while nobody ran
		}
		d.step(now, in)
	}
	d.feeding = false
}

func (d *driver) step(now time.Duration, in policy.Input) {
	in.Rand = rand.Float64() // starters that failed together must not come back together
	for _, c := range d.machine.Step(now, in) {
		if c.Op == policy.Wake {
			d.timer.Reset(max(0, c.At-now))
			continue
		}
		d.do(c)
	}
}
