//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package datadir

import (
	"errors"
	"os"

	"github.com/solehold/solehold/internal/procfs"
)

// This system is not written for: nothing opens, so that what follows Open and
// KeyOf is never reached.

// Dir is an open data directory.
type Dir struct{ path string }

// Open fails with errors.ErrUnsupported.
func Open(string) (*Dir, error) { return nil, errors.ErrUnsupported }

// KeyOf fails with errors.ErrUnsupported.
func KeyOf(string) (Key, error) { return Key{}, errors.ErrUnsupported }

// Close closes the directory.
func (d *Dir) Close() error { return errors.ErrUnsupported }

// FD returns the directory's descriptor.
func (d *Dir) FD() uintptr { return 0 }

// Key returns the directory's identity.
func (d *Dir) Key() Key { return Key{} }

// UID returns the owner of the directory.
func (d *Dir) UID() int { return -1 }

// Given returns the path as it was opened.
func (d *Dir) Given() string { return d.path }

// Path returns where the directory is now.
func (d *Dir) Path() string { return d.path }

// Gone reports whether the directory was removed.
func (d *Dir) Gone() bool { return true }

// Check refuses a directory in which anybody could plant or replace files.
func (d *Dir) Check() error { return errors.ErrUnsupported }

// FilesystemClass returns the class of the file system.
func (d *Dir) FilesystemClass() (Class, error) { return Unknown, errors.ErrUnsupported }

// Filesystem describes the file system.
func (d *Dir) Filesystem(procfs.FS) Filesystem { return Filesystem{} }

// OpenState opens the directory of solehold's files.
func (d *Dir) OpenState(bool) (*State, error) { return nil, errors.ErrUnsupported }

// OpenStateAt opens a state directory that lies outside the data directory.
func (d *Dir) OpenStateAt(string) (*State, error) { return nil, errors.ErrUnsupported }

func (d *Dir) hasOwnState(Key) bool { return false }

// State is the open state directory of a data directory.
type State struct {
	dir   *Dir
	path  string
	away  bool
	whole bool
}

// Close closes the state directory.
func (s *State) Close() error { return errors.ErrUnsupported }

// FD returns the descriptor of the state directory.
func (s *State) FD() uintptr { return 0 }

// Same returns nil when a name in the state directory leads to f.
func (s *State) Same(string, File) error { return errors.ErrUnsupported }

// Here returns nil when the path of the state directory leads to it.
func (s *State) Here() error { return errors.ErrUnsupported }

func (s *State) open(string, purpose) (File, error) { return File{}, errors.ErrUnsupported }

func (s *State) rename(string, string, bool) error { return errors.ErrUnsupported }

func (s *State) unlink(string) error { return errors.ErrUnsupported }

// Key returns the identity of the state directory.
func (s *State) Key() (Key, error) { return Key{}, errors.ErrUnsupported }

func (s *State) paths() []string { return nil }

func (s *State) is(*os.Root) error { return errors.ErrUnsupported }

// File is an open file of the state directory.
type File struct{ path string }

// FD returns the descriptor.
func (f File) FD() uintptr { return 0 }

// Path returns the name that was opened.
func (f File) Path() string { return f.path }

// Key returns the identity of the file.
func (f File) Key() Key { return Key{} }

// Write appends or overwrites at the file's position.
func (f File) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

// ReadAt reads at an offset.
func (f File) ReadAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// WriteAt writes all of p at an offset.
func (f File) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// Sync waits until the content is on the disk.
func (f File) Sync() error { return errors.ErrUnsupported }

// Size returns the length in bytes.
func (f File) Size() (int64, error) { return 0, errors.ErrUnsupported }

// Close closes the descriptor.
func (f File) Close() error { return errors.ErrUnsupported }
