//go:build unix

package web

import (
	"io/fs"
	"os"
	"syscall"
)

// mine says whether a file belongs to this user.
func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
