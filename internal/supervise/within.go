package supervise

import "time"

// within returns what a function gives that may never come back, and whether it
// did.
func within[T any](limit time.Duration, work func() T) (result T, ok bool) {
	done := make(chan T, 1)
	go func() { done <- work() }()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case result = <-done:
		return result, true
	case <-t.C:
		return result, false
	}
}
