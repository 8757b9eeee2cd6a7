package doctor

import (
	"io/fs"
	"syscall"

	"github.com/solehold/solehold/internal/procfs"
)

// idOf is the identity of a file that was looked at.
func idOf(info fs.FileInfo) procfs.FileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return procfs.FileID{}
	}
	return procfs.FileID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}
}
