package datadir

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/windows"
)

// FilesystemClass returns the class of the directory's volume.
func (d *Dir) FilesystemClass() (Class, error) {
	kind, err := d.volume()
	if err != nil {
		return Unknown, &fs.PathError{Op: "volume", Path: d.path, Err: err}
	}
	return ClassOf(kind), nil
}

// Filesystem describes the volume; there is no /proc to read mounts from.
func (d *Dir) Filesystem(procfs.FS) Filesystem {
	kind, _ := d.volume()
	root := filepath.VolumeName(d.Path())
	return Judge(procfs.Mount{Type: kind, Source: root, Point: root})
}

// volume names the file system in the lower case of other systems; what another
// computer serves is a share, whatever that computer calls it.
func (d *Dir) volume() (string, error) {
	path := finalPath(d.h)
	if strings.HasPrefix(path, `\\?\UNC\`) {
		return "smb", nil
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(plain(path)) + `\`)
	if err == nil && windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "smb", nil
	}
	name := make([]uint16, windows.MAX_PATH+1)
	if err := windows.GetVolumeInformationByHandle(d.h, nil, 0, nil, nil, nil, &name[0], uint32(len(name))); err != nil {
		return "", err
	}
	return strings.ToLower(windows.UTF16ToString(name)), nil
}
