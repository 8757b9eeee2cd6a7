// Package datadir opens a data directory and solehold's files in it, so that
// nothing is followed, truncated or removed on the way: every name is opened
// relative to a descriptor that was checked before. It knows names and owners;
// what a lock or a record means is decided a layer above.
//
// Descriptors are plain numbers here. An os.File costs five more system calls
// for each open, and the garbage collector would close a forgotten one, and
// with it a lock that is still believed in.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

const (
	// StateName is the directory of solehold's files inside a data directory.
	StateName = ".solehold"
	// LockName is the lock file inside the state directory.
	LockName = "lock"
	// SeatName is the file whose lock is the seat, where files are locked as a whole.
	SeatName = "seat"
	// ReleaseName is the file by which somebody asks the holder to let go.
	ReleaseName = "release"
	// PairName is the file that names the data directory of a state directory
	// which lies elsewhere.
	PairName = "pair"
)

// Key is the identity of a file or directory on this host, whatever path leads
// to it.
type Key struct {
	// Dev is the device number as stat gives it.
	Dev uint64
	// Ino is the inode number.
	Ino uint64
}

// String is "device:inode".
func (k Key) String() string { return fmt.Sprintf("%d:%d", k.Dev, k.Ino) }

// RefusedError says that something is where solehold's files should be which it
// will not touch: a symlink, a hard link, a stranger's file, a directory that
// anybody may write to.
type RefusedError struct {
	// Path is what was refused.
	Path string
	// Why is the reason in words.
	Why string
}

// Error names the place and the reason.
func (e *RefusedError) Error() string { return e.Path + ": " + e.Why }

// ErrMoved says that a path no longer leads to the file that was opened.
var ErrMoved = errors.New("the path no longer leads to this file")

// ErrNoState says that a data directory has no state directory: nobody has ever
// held it.
var ErrNoState = errors.New("nothing of solehold is there")

// CheckPath refuses a path that nobody means: an empty one, and a literal tilde,
// which is a shell's abbreviation that was not expanded.
func CheckPath(path string) error {
	switch {
	case path == "":
		return &RefusedError{Path: `""`, Why: "the path is empty"}
	case strings.HasPrefix(path, "~"):
		return &RefusedError{Path: path, Why: "a shell would have replaced the ~; write the whole path, or ./~ for a directory of that name"}
	case strings.IndexByte(path, 0) >= 0:
		return &fs.PathError{Op: "open", Path: strings.ReplaceAll(path, "\x00", `\0`), Err: fs.ErrInvalid}
	}
	return nil
}

// Create makes a missing data directory with mode 0700 (on Windows with the rights that
// its parent hands down), its parents as far as they
// exist. An existing directory is left as it is.
func Create(path string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil // Open says what is wrong with it, if anything is
	}
	return err
}

// Class says how far the locks of a file system reach.
type Class string

// The classes of file systems. Only Local promises that every process which can
// reach the directory meets the same locks.
const (
	// Local is a file system of this kernel alone.
	Local Class = "local"
	// Network is shared with other hosts.
	Network Class = "network"
	// Userspace is served by a program (FUSE), whose locks may be empty promises.
	Userspace Class = "userspace"
	// Stacked lies over others (overlay): the same file through another layer has other locks.
	Stacked Class = "stacked"
	// Unknown is none of those that are known.
	Unknown Class = "unknown"
)

// Filesystem is where a directory lies.
type Filesystem struct {
	// Type is the name of the file system, e.g. ext4 or fuse.sshfs.
	Type string `json:"type"`
	// Class says how far its locks reach.
	Class Class `json:"class"`
	// Source is the device or server, as far as it is known.
	Source string `json:"source,omitempty"`
	// Point is where it is mounted.
	Point string `json:"mount_point,omitempty"`
	// Warning says why one owner cannot be promised, empty where it can.
	Warning string `json:"warning,omitempty"`
}
