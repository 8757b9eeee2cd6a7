// Package oslock holds the only lock system calls of solehold. It works on
// open files and knows no names: who opens what, and what a lock means, is
// decided a layer above.
//
// A lock belongs to the open file description (Linux: fcntl F_OFD_SETLK; other
// Unix: flock), so closing an unrelated descriptor of the same file never drops
// it, every process that inherited the descriptor keeps it, and the kernel
// frees it when the last of them is gone. No call here blocks by itself; a
// network file system may still let it hang, which the caller has to bound.
package oslock

import "errors"

// ErrHeld says that another open file description holds the byte in a way that
// excludes the request. It is the only error that means "held": every other
// error of this package is the kernel's errno, and then nothing is known about
// a holder.
var ErrHeld = errors.New("held by another open file")

// Byte is one byte of a file that carries a lock. All bytes lie far behind any
// content, so content stays readable where locks are mandatory (Windows).
type Byte int64

const (
	// Owner is the byte of the lock that arbitrates between starters, and of
	// the mark on the data directory.
	Owner Byte = 1 << 62
	// Seat is the byte taken by the one process below a holder that guards
	// itself inside the holder's tree.
	Seat Byte = 1<<62 + 1
)

// TryLock takes the exclusive lock on b for the description behind fd, which
// must be open for writing. It returns nil also when this description already
// has it, ErrHeld when another description has it in any mode.
func TryLock(fd uintptr, b Byte) error { return tryLock(fd, b, true) }

// TryMark takes a shared lock on b, for which an fd opened for reading is
// enough, directories included. Marks of several descriptions coexist; a mark
// excludes exclusive locks. Linux only.
func TryMark(fd uintptr, b Byte) error { return tryLock(fd, b, false) }

// Unlock gives up the lock or the mark on b for every process that shares the
// description behind fd. It is not an error when there was none.
func Unlock(fd uintptr, b Byte) error { return unlock(fd, b) }

// Held reports whether a description other than the one behind fd holds a lock
// or a mark on b. It takes nothing, so it cannot make a starter fail. Where the
// system has no such question (flock), it returns errors.ErrUnsupported.
func Held(fd uintptr, b Byte) (bool, error) { return held(fd, b) }
