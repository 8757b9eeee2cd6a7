package drill

import (
	"math/rand/v2"
	"time"
)

// dice are the random points of one round: the same for the same seed and round, whatever happened in others.
type dice struct{ *rand.Rand }

func newDice(seed uint64, round int) *dice {
	return &dice{rand.New(rand.NewPCG(seed, uint64(round)))}
}

// between draws a duration, short ones as likely as long ones: the first moments of a life are where most goes wrong.
func (d *dice) between(longest time.Duration) time.Duration {
	x := d.Float64()
	return time.Duration(x * x * float64(longest))
}
