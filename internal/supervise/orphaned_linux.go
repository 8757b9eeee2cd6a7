//go:build !solehold_portable

package supervise

import (
	"slices"

	"github.com/solehold/solehold/internal/procfs"
)

// orphanedGroup reports whether no shell watches this process group: none of its
// members has a parent in the same session outside of it (setpgid(2)).
func orphanedGroup() bool {
	proc := procfs.Default()
	self, err := proc.Stat(0)
	if err != nil {
		return true
	}
	pids, _ := proc.Pids()
	return !slices.ContainsFunc(pids, func(pid int) bool {
		st, err := proc.Stat(pid)
		if err != nil || st.PGID != self.PGID {
			return false
		}
		parent, err := proc.Stat(st.PPID)
		return err == nil && parent.SID == self.SID && parent.PGID != self.PGID
	})
}
