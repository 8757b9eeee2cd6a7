//go:build !unix

package dataroot

import (
	"errors"
	"io/fs"
	"os"
)

// open is not known from the mode on this system.
func open(fs.FileInfo) bool { return false }

// claim cannot tell a dead maker from a slow one on this system.
func claim(*os.Root) (*os.File, error) { return nil, errors.ErrUnsupported }
