//go:build !linux

package procid

import "errors"

var (
	errNoProcess = errors.New("no such process")
	errThread    = errors.New("a thread, not a process")
)

func pidfsID(int) (uint64, error) { return 0, errors.ErrUnsupported }

func pidfsAlive(uint64) (bool, error) { return false, errors.ErrUnsupported }
