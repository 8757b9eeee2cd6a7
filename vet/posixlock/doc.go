// Package posixlock reports a POSIX record lock on a file that the package opens elsewhere as well.
//
// Such a lock belongs to the process and the file. When the process closes any descriptor of that file, the lock is
// gone, without a word: reading the lock file to show who holds it is enough.
//
// WRONG
//
//	err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lk)
//	...
//	b, err := os.ReadFile(path) // its close drops the lock
//
// RIGHT
//
//	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lk) // or flock: both belong to the open file
//
// There is no fix: programs that exclude each other must change together, since flock and fcntl locks do not meet.
package posixlock
