//go:build !linux

package doctor

import (
	"io/fs"

	"github.com/solehold/solehold/internal/procfs"
)

// idOf knows no identity where there is no /proc to compare it with.
func idOf(fs.FileInfo) procfs.FileID { return procfs.FileID{} }
