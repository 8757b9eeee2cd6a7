//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"time"

	"github.com/solehold/solehold/internal/procid"
)

// systemClocks reads the time since the system was started twice: whether that
// counts sleep differs by system, and a clock that only runs awake is not asked.
func systemClocks() (boot, awake time.Duration) {
	now := procid.SinceBoot()
	return now, now
}
