package lease

import (
	"errors"
	"fmt"
	"time"
)

// ErrConfig is wrapped by every error of [New].
var ErrConfig = errors.New("lease: bad configuration")

// The deadlines in hundredths of the granted time to live, counted from the last acknowledged send.
const (
	renewAt = 20 // renew, and verify with every third
	retryIn = 10 // between attempts that are not acknowledged
	tellAt  = 60 // four attempts were made: at 20, 30, 40 and 50
	killAt  = 80
	stopAt  = 90
)

// VerifyEvery is how many acknowledged renewals lie between two looks at the claims themselves. An acknowledged renewal
// proves the lease, not that its keys are still there.
const VerifyEvery = 3

// MinDelay is the shortest lock-delay.
const MinDelay = 2 * time.Second

// Config is what a machine is told once.
type Config struct {
	// TTL is the time to live that is asked for. What the engine grants counts; a shorter one is checked again.
	TTL time.Duration
	// Grace is how long the work may take from being told to being killed. At most TTL/5: told at 0.60, killed at 0.80.
	Grace time.Duration
	// Delay is the lock-delay: how long an owner waits before it works when its predecessor did not release cleanly.
	// Default TTL/5, at least [MinDelay]; at most TTL.
	Delay time.Duration
	// NoVerify leaves the looks at the claims out, for engines whose renewal looks at each claim.
	NoVerify bool
}

// Times are the deadlines of a time to live, from the last acknowledged send.
type Times struct {
	// Renew is when the next renewal is sent, Retry how long after it another one.
	Renew, Retry time.Duration
	// Tell is when the owner is told, Kill when its work is killed, Stop when it must be seen dead.
	Tell, Kill, Stop time.Duration
}

// TimesOf gives the deadlines of a time to live.
func TimesOf(ttl time.Duration) Times {
	part := func(percent int) time.Duration { return ttl / 100 * time.Duration(percent) }
	return Times{Renew: part(renewAt), Retry: part(retryIn), Tell: part(tellAt), Kill: part(killAt), Stop: part(stopAt)}
}

// Complete checks c and fills in the defaults.
func (c Config) Complete() (Config, error) {
	if c.Delay == 0 {
		c.Delay = max(c.TTL/5, MinDelay)
	}
	return c, c.check()
}

func (c Config) check() error {
	t := TimesOf(c.TTL)
	switch {
	case c.TTL < 2*time.Second || c.TTL > 24*time.Hour:
		return fmt.Errorf("%w: a ttl of %v is not between 2s and 24h", ErrConfig, c.TTL)
	case c.Grace < 0 || c.Delay < 0:
		return fmt.Errorf("%w: a negative duration", ErrConfig)
	case t.Tell+c.Grace > t.Kill:
		return fmt.Errorf("%w: with a ttl of %v the owner is told after %v (0.60 ttl); with the grace of %v that makes %v, "+
			"but it is killed after %v (0.80 ttl): use a ttl of at least %v or a grace of at most %v",
			ErrConfig, c.TTL, t.Tell, c.Grace, t.Tell+c.Grace, t.Kill, 5*c.Grace, c.TTL/5)
	case c.Delay > c.TTL:
		return fmt.Errorf("%w: a lock-delay of %v is longer than the ttl of %v: the owner would lose the lease before it works", ErrConfig, c.Delay, c.TTL)
	}
	return nil
}
