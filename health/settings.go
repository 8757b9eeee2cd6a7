package health

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Settings says how often to ask and how many answers count, in the words of Kubernetes.
type Settings struct {
	// InitialDelay is the time between the start of the service and the first check.
	InitialDelay time.Duration
	// Period is the time between the starts of two checks; at least one second.
	Period time.Duration
	// Timeout is the time for one check.
	Timeout time.Duration
	// FailureThreshold is how many failures in a row make the service unhealthy.
	FailureThreshold int
	// SuccessThreshold is how many good answers in a row make it healthy again; it must be 1.
	SuccessThreshold int
}

// DefaultSettings gives the defaults of Kubernetes: no delay, every 10 s, for 1 s, 3 failures, 1 success.
func DefaultSettings() Settings {
	return Settings{Period: 10 * time.Second, Timeout: DefaultTimeout, FailureThreshold: 3, SuccessThreshold: 1}
}

// Validate gives an error that names each setting that cannot be.
func (s Settings) Validate() error {
	var bad []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			bad = append(bad, fmt.Errorf(format, args...))
		}
	}
	must(s.InitialDelay >= 0, "initial delay %s: must not be negative", s.InitialDelay)
	must(s.Period >= time.Second, "period %s: must be at least 1s", s.Period)
	must(s.Timeout > 0, "timeout %s: must be positive", s.Timeout)
	must(s.FailureThreshold >= 1, "failure threshold %d: must be at least 1", s.FailureThreshold)
	must(s.SuccessThreshold == 1, "success threshold %d: must be 1 for health and startup probes", s.SuccessThreshold)
	return errors.Join(bad...)
}

// FailsAfter is the longest time from the moment a service stops answering until its last needed failure is known.
func (s Settings) FailsAfter() time.Duration {
	return time.Duration(s.FailureThreshold)*s.Period + s.Timeout
}

// Check asks p once, for at most Timeout. A good answer that used more than half of it is [Slow]. A failure that was
// seen more than half of Timeout after its time is [Unknown]: the prober itself was starved or stopped, and cannot
// tell whether the service was late.
func (s Settings) Check(ctx context.Context, p Probe) Result {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, limitKey{}, s.Timeout), s.Timeout)
	defer cancel()
	start := time.Now()
	r := p.Check(ctx)
	late := time.Since(start) - s.Timeout
	switch {
	case r.Verdict == OK && r.Took > s.Timeout/2:
		r.Verdict = Slow
	case r.Verdict == Fail && late > s.Timeout/2:
		r.Verdict = Unknown
		r.Detail = Line(fmt.Sprintf("the prober was %s late: %s", short(late), r.Detail))
	}
	return r
}

// limitKey finds the timeout in a context, for people: what is left of it when a check begins is an odd number.
type limitKey struct{}
