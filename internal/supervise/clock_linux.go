//go:build !solehold_portable

package supervise

import (
	"time"

	"golang.org/x/sys/unix"
)

// systemClocks reads the time since the machine was booted with the time that it
// slept, and without.
func systemClocks() (boot, awake time.Duration) {
	return sinceBoot(), clock(unix.CLOCK_MONOTONIC)
}

// sinceBoot is CLOCK_BOOTTIME: nobody can step it, and it goes on while the
// machine sleeps.
func sinceBoot() time.Duration { return clock(unix.CLOCK_BOOTTIME) }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(id, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
