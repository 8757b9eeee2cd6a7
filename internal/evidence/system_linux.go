package evidence

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// toldElsewhere says that there is no /proc.
const toldElsewhere = false

// describe is for systems without /proc.
func describe(int) (string, error) { return "", errors.ErrUnsupported }

// onProcessor does something on one of the processors, if this process may run there.
func onProcessor(cpu int, do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, there unix.CPUSet
	there.Set(cpu)
	if unix.SchedGetaffinity(0, &before) != nil || unix.SchedSetaffinity(0, &there) != nil {
		return
	}
	defer unix.SchedSetaffinity(0, &before)
	do()
}
