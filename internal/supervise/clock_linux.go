//go:build !solehold_portable

package supervise

import (
	"time"

	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

// systemClocks reads the time since the machine was booted with the time that it
// slept, and without.
func systemClocks() (boot, awake time.Duration) {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return procid.SinceBoot(), 0
	}
	return procid.SinceBoot(), time.Duration(ts.Nano())
}
