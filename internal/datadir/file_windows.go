package datadir

import (
	"io"
	"io/fs"

	"golang.org/x/sys/windows"
)

// File is an open file of the state directory: a handle that stays open until
// Close, whatever the garbage collector thinks, and that no child inherits.
type File struct {
	h    windows.Handle
	path string
	key  Key
}

// FD returns the handle.
func (f File) FD() uintptr { return uintptr(f.h) }

// Path returns the name that was opened, for messages.
func (f File) Path() string { return f.path }

// Write appends or overwrites at the file's position; a short write is an error.
func (f File) Write(p []byte) (int, error) {
	var n uint32
	err := windows.WriteFile(f.h, p, &n, nil)
	return f.written(n, len(p), err)
}

// ReadAt reads at an offset; it returns io.EOF where the file ends before p is full.
func (f File) ReadAt(p []byte, off int64) (int, error) {
	var n uint32
	err := windows.ReadFile(f.h, p, &n, at(off))
	if err == windows.ERROR_HANDLE_EOF || err == nil && int(n) < len(p) {
		return int(n), io.EOF
	}
	return int(n), f.error("read", err)
}

// WriteAt writes all of p at an offset; a short write is an error.
func (f File) WriteAt(p []byte, off int64) (int, error) {
	var n uint32
	err := windows.WriteFile(f.h, p, &n, at(off))
	return f.written(n, len(p), err)
}

// at is an offset for a handle that is not overlapped all the same.
func at(off int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(off), OffsetHigh: uint32(off >> 32)}
}

func (f File) written(n uint32, want int, err error) (int, error) {
	if err == nil && int(n) < want {
		err = windows.ERROR_DISK_FULL // the only reason for a short write to a regular file
	}
	return int(n), f.error("write", err)
}

// Sync waits until the content is on the disk.
func (f File) Sync() error { return f.error("sync", windows.FlushFileBuffers(f.h)) }

// Size returns the length in bytes.
func (f File) Size() (int64, error) {
	var info windows.ByHandleFileInformation
	err := windows.GetFileInformationByHandle(f.h, &info)
	return int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow), f.error("stat", err)
}

// Key returns the identity of the file.
func (f File) Key() Key { return f.key }

// Close closes the handle.
func (f File) Close() error { return f.error("close", windows.CloseHandle(f.h)) }

func (f File) error(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}
