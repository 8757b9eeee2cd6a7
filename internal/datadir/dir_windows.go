package datadir

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Dir is an open data directory. While it is open nobody can remove or rename it.
type Dir struct {
	h    windows.Handle
	path string
	key  Key
}

// Open opens the data directory at path; links that lead to it are followed. The
// error is a *RefusedError or wraps the system's.
func Open(path string) (*Dir, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	h, err := openPath(path, dirAccess, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE)
	if err == nil {
		err = wantDir(h)
	}
	d := &Dir{h: h, path: path}
	if err == nil {
		d.key, err = keyOf(h)
	}
	if err != nil {
		closeHandle(h)
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return d, nil
}

// KeyOf returns the identity of the directory that path leads to now, however it
// is spelled.
func KeyOf(path string) (Key, error) {
	h, err := openPath(path, windows.FILE_READ_ATTRIBUTES, shareAll)
	if err != nil {
		return Key{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	defer closeHandle(h)
	key, err := keyOf(h)
	if err != nil {
		return Key{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return key, nil
}

// Close closes the directory.
func (d *Dir) Close() error { return windows.CloseHandle(d.h) }

// FD returns the directory's handle.
func (d *Dir) FD() uintptr { return uintptr(d.h) }

// Key returns the directory's identity: the volume's serial number and the file's.
func (d *Dir) Key() Key { return d.key }

// UID returns -1: owners have no numbers on Windows.
func (d *Dir) UID() int { return -1 }

// Given returns the path as it was opened.
func (d *Dir) Given() string { return d.path }

// Path returns where the directory is now, free of links and in its own spelling,
// or the path as it was given where the system does not say.
func (d *Dir) Path() string {
	if p := finalPath(d.h); p != "" {
		return plain(p)
	}
	if p, err := filepath.Abs(d.path); err == nil {
		return p
	}
	return d.path
}

// plain is the path that people write.
func plain(p string) string {
	if rest, ok := strings.CutPrefix(p, `\\?\UNC\`); ok {
		return `\\` + rest
	}
	return strings.TrimPrefix(p, `\\?\`)
}

func finalPath(h windows.Handle) string {
	buf := make([]uint16, 512)
	for {
		n, err := windows.GetFinalPathNameByHandle(h, &buf[0], uint32(len(buf)), 0)
		switch {
		case err != nil:
			return ""
		case int(n) < len(buf):
			return windows.UTF16ToString(buf[:n])
		}
		buf = make([]uint16, n+1)
	}
}

// Gone reports whether the directory was removed, so that no path leads to it.
func (d *Dir) Gone() bool {
	var info windows.ByHandleFileInformation
	err := windows.GetFileInformationByHandle(d.h, &info)
	return err == nil && info.NumberOfLinks == 0
}

// Check refuses nothing here: what the rights of a directory let whom do is not
// judged on Windows.
func (d *Dir) Check() error { return nil }

const (
	dirAccess = windows.FILE_LIST_DIRECTORY | windows.FILE_TRAVERSE | windows.FILE_READ_ATTRIBUTES | windows.SYNCHRONIZE
	shareAll  = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
)

// openPath opens what is at a path, directories included.
func openPath(path string, access, share uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(long(path))
	if err != nil {
		return windows.InvalidHandle, err
	}
	return windows.CreateFile(name, access, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
}

// long spells a path so that its length does not matter.
func long(path string) string {
	const shortest = 248 // where Windows begins to refuse directories
	if len(path) < shortest || strings.HasPrefix(path, `\\?\`) {
		return path
	}
	abs, err := filepath.Abs(path)
	switch {
	case err != nil:
		return path
	case strings.HasPrefix(abs, `\\`):
		return `\\?\UNC\` + abs[2:]
	}
	return `\\?\` + abs
}

func wantDir(h windows.Handle) error {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return err
	}
	if info.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY == 0 {
		return windows.ERROR_DIRECTORY
	}
	return nil
}

func closeHandle(h windows.Handle) {
	if h != windows.InvalidHandle {
		windows.CloseHandle(h)
	}
}

// fileID is FILE_ID_INFO of winbase.h.
type fileID struct {
	volume uint64
	id     [16]byte
}

// keyOf asks for the wide number, which ReFS needs. File systems without it (FAT,
// shares of old servers) give the narrow one.
func keyOf(h windows.Handle) (Key, error) {
	var wide fileID
	err := windows.GetFileInformationByHandleEx(h, windows.FileIdInfo, (*byte)(unsafe.Pointer(&wide)), uint32(unsafe.Sizeof(wide)))
	if err == nil && wide.id != [16]byte{} {
		return Key{Dev: wide.volume, Ino: fold(wide.id)}, nil
	}
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return Key{}, err
	}
	return Key{Dev: uint64(info.VolumeSerialNumber), Ino: uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)}, nil
}

// fold keeps NTFS's numbers, which have 64 bits, as they are.
func fold(id [16]byte) uint64 {
	low, high := binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
	if high == 0 {
		return low
	}
	h := fnv.New64a()
	h.Write(id[:])
	return h.Sum64()
}
