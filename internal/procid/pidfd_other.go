//go:build !linux

package procid

import "errors"

var (
	errNoProcess = errors.New("no such process")
	errThread    = errors.New("a thread, not a process")
)

// answer is what Linux says of a pid.
type answer struct {
	number uint64
	ended  bool
}

func ask(int) (answer, error) { return answer{}, errors.ErrUnsupported }

func pidfsAlive(uint64) (bool, error) { return false, errors.ErrUnsupported }
