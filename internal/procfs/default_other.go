//go:build !linux

package procfs

import "io/fs"

// nothing is the /proc of a system without one. What has its name is somebody's
// own directory (Windows), or an emulation that answers for half of it (FreeBSD).
type nothing struct{}

func open(string) fs.FS { return nothing{} }

// Open finds no file.
func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
