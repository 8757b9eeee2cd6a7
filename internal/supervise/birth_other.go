//go:build !linux || solehold_portable

package supervise

import (
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

func birthOf(pid int) (birth, error) {
	if pid <= 0 { // would be this one; on Windows also the idle process, and what has no parent
		return birth{}, procid.ErrNotThisProcess
	}
	id, err := procid.Of(procfs.Default(), pid)
	return birth{id.PID, id.StartTicks}, err
}
