package fence

import (
	"errors"
	"fmt"
)

// ErrStale is what errors.Is finds in a *StaleError.
var ErrStale = errors.New("a later owner has written already")

// StaleError says that a write came with a token below one that was seen.
type StaleError struct {
	// Resource is what was to be written.
	Resource string
	// Token is the writer's, Highest the highest that was seen.
	Token, Highest uint64
}

// Error names both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%s: token %d is void: %v, with token %d; stop, the lock is lost", e.Resource, e.Token, ErrStale, e.Highest)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }
