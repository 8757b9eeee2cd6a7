//go:build !linux

package procfs

import (
	"io/fs"
	"os"
)

// open needs no speed where there is no /proc, or (FreeBSD's emulation) hardly anything in it.
func open(root string) fs.FS { return os.DirFS(root) }
