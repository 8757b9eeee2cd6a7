package supervise

import (
	"time"
	"unsafe"

	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/windows"
)

// systemClocks reads the time since the system was started with the time that it
// slept, and without.
func systemClocks() (boot, awake time.Duration) {
	const unit = 100 // ns
	var n uint64
	windows.NewLazySystemDLL("kernel32.dll").NewProc("QueryUnbiasedInterruptTime").Call(uintptr(unsafe.Pointer(&n)))
	return procid.SinceBoot(), time.Duration(n) * unit
}
