//go:build unix

package evidence

import (
	"io/fs"
	"syscall"
)

func ownerOf(st fs.FileInfo) (uid, gid int, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(sys.Uid), int(sys.Gid), true
}

// nonBlock opens a fifo without waiting for its other end.
const nonBlock = syscall.O_NONBLOCK
