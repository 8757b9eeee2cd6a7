package policy

import (
	"errors"
	"fmt"
	"time"
)

// ErrConfig is wrapped by every error of [New].
var ErrConfig = errors.New("policy: bad configuration")

// Mode says whose process is judged.
type Mode uint8

const (
	// Run owns a child: it starts it, knows its end and holds the lock all the time.
	Run Mode = iota
	// Watch owns nothing: it looks at a lock and at a service that somebody else may have started.
	Watch
)

// Restart says after which end of its own a child is started again. A child that was stopped for being unhealthy is
// started again whatever this says: that is what [UnhealthyRestart] means.
type Restart uint8

const (
	// RestartNo mirrors the first end: something outside restarts, or nothing does.
	RestartNo Restart = iota
	// RestartOnFailure restarts after a code other than 0 or a signal.
	RestartOnFailure
	// RestartAlways restarts after a clean end too. Clean ends count against the limit: a loop of them is a loop.
	RestartAlways
)

// OnUnhealthy says what becomes of a service that is alive and fails its probes.
type OnUnhealthy uint8

const (
	// UnhealthyRestart takes evidence and stops the tree; it is started again when the whole tree is seen dead.
	UnhealthyRestart OnUnhealthy = iota
	// UnhealthyReport takes evidence and stops nothing.
	UnhealthyReport
)

// Schedule is one probe, in the words and with the defaults of Kubernetes. Its success threshold is 1: one good answer
// proves that the service serves.
type Schedule struct {
	// InitialDelay is the time from the start of the child to the first round. Default 0.
	InitialDelay time.Duration
	// Period is the time from one round to the next. Default 10 s.
	Period time.Duration
	// Timeout is how long the prober may take. The machine waits one period longer, then the round is unknown: a prober
	// that is starved says nothing about the service. Default 1 s.
	Timeout time.Duration
	// FailureThreshold is how many failing rounds make the service unhealthy. Good rounds start the count anew, unknown
	// ones leave it alone. Default 3.
	FailureThreshold int
}

// Backoff is decorrelated jitter: each delay is uniform between Base and three times the delay before, at most Cap.
// Instances that crashed together do not come back together, and the delays still grow.
type Backoff struct {
	// Base is the shortest delay. 0 means no backoff at all.
	Base time.Duration
	// Cap is the longest delay. Default 5 min, or Base if that is longer.
	Cap time.Duration
}

// Config is what a machine is told once. The zero value of every field but HasHealth is useful.
type Config struct {
	// Mode is [Run] or [Watch].
	Mode Mode
	// Once ends a watch at its first decision: healthy, started, stopped and started, reported, or nothing to be done.
	// For cron. One failing round decides where nobody holds the lock; where somebody does, rounds below the threshold
	// decide nothing.
	Once bool
	// HasStartup turns Startup on. In a watch it counts for a holder only: what nobody holds is not starting.
	HasStartup bool
	// HasHealth turns Health on. A watch needs it.
	HasHealth bool
	// Startup holds Health back until its first success, so that a service is not killed while it boots.
	Startup Schedule
	// Health judges for as long as the service lives.
	Health Schedule
	// AwaitReady makes a child without probes ready at its own word and not at its start.
	AwaitReady bool
	// LookTime is how much longer a round of a watch may take because it looks at the lock, too.
	LookTime time.Duration
	// MinFailing is how long the probes must have failed before anything is stopped: the time from failing round to
	// failing round since the last good one, without stretches that have an unknown round in them. A threshold alone
	// kills a service for one slow second. Default 30 s.
	MinFailing time.Duration
	// RoundsAfterGap is how many rounds must fail after a clock gap before anything else is concluded. Default 2.
	RoundsAfterGap int
	// OnUnhealthy is restart or report.
	OnUnhealthy OnUnhealthy
	// Rearm is how long a service stays unhealthy until evidence is taken again. For reports only. Default 1 h.
	Rearm time.Duration
	// Restart is no, on-failure or always. A watch does not use it.
	Restart Restart
	// RestartMax gives up when the failure score is above it: so many restarts in a row are made. 0 never gives up.
	RestartMax int
	// Backoff delays restarts.
	Backoff Backoff
	// StableAfter is the time of good running after which failures, backoff and a give-up are forgiven. Default 10 min.
	StableAfter time.Duration
	// HalfLife is the time of good running that halves the failure score. Time in backoff does not count: with a long
	// backoff a crash loop would heal itself and never reach the limit. Default 5 min.
	HalfLife time.Duration
}

// complete checks c and fills in the defaults.
func (c Config) complete() (Config, error) {
	c.Startup, c.Health = c.Startup.complete(), c.Health.complete()
	setDefault(&c.MinFailing, 30*time.Second)
	setDefault(&c.RoundsAfterGap, 2)
	setDefault(&c.Rearm, time.Hour)
	setDefault(&c.Backoff.Cap, max(5*time.Minute, c.Backoff.Base))
	setDefault(&c.StableAfter, 10*time.Minute)
	setDefault(&c.HalfLife, 5*time.Minute)
	return c, c.check()
}

func (s Schedule) complete() Schedule {
	setDefault(&s.Period, 10*time.Second)
	setDefault(&s.Timeout, time.Second)
	setDefault(&s.FailureThreshold, 3)
	return s
}

func setDefault[T int | time.Duration](p *T, v T) {
	if *p == 0 {
		*p = v
	}
}

// check gives the first thing that is wrong with a completed c.
func (c Config) check() error {
	switch {
	case c.Mode > Watch, c.Restart > RestartAlways, c.OnUnhealthy > UnhealthyReport:
		return fmt.Errorf("%w: a mode, restart or on-unhealthy without a name", ErrConfig)
	case c.Mode == Watch && !c.HasHealth:
		return fmt.Errorf("%w: a watch needs a health probe", ErrConfig)
	case c.Mode == Run && c.Once:
		return fmt.Errorf("%w: once is for a watch", ErrConfig)
	case c.RestartMax < 0 || c.RoundsAfterGap < 0:
		return fmt.Errorf("%w: a negative count", ErrConfig)
	case c.Backoff.Cap < c.Backoff.Base:
		return fmt.Errorf("%w: the backoff's cap %v is below its base %v", ErrConfig, c.Backoff.Cap, c.Backoff.Base)
	case outOfRange(c.LookTime, c.MinFailing, c.Rearm, c.StableAfter, c.HalfLife, c.Backoff.Base, c.Backoff.Cap):
		return fmt.Errorf("%w: a duration is negative or longer than %v", ErrConfig, longest)
	}
	return errors.Join(c.Startup.check("startup"), c.Health.check("health"))
}

func (s Schedule) check(name string) error {
	if s.FailureThreshold < 0 || outOfRange(s.InitialDelay, s.Period, s.Timeout) {
		return fmt.Errorf("%w: the %s probe has a negative threshold, or a duration that is negative or longer than %v", ErrConfig, name, longest)
	}
	return nil
}

// longest keeps sums of a few durations and times far from overflow.
const longest = 10 * 365 * 24 * time.Hour

func outOfRange(all ...time.Duration) bool {
	for _, d := range all {
		if d < 0 || d > longest {
			return true
		}
	}
	return false
}
