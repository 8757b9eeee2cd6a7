//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"time"

	"golang.org/x/sys/unix"
)

// systemClocks reads the time since the system was started twice: whether that
// counts sleep differs by system, and a clock that only runs awake is not asked.
func systemClocks() (boot, awake time.Duration) {
	now := sinceBoot()
	return now, now
}

func sinceBoot() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(monotonic, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
