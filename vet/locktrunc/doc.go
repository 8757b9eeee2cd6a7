// Package locktrunc reports a lock file that is opened with os.Create or O_TRUNC.
//
// The file is emptied by the open, before the lock is asked for: a starter that is about to be refused wipes out what
// the owner wrote there, such as its pid.
//
// WRONG
//
//	f, err := os.Create(path)
//	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
//
// RIGHT
//
//	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
//	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
//	err = f.Truncate(0) // only once the lock is held
//
// The fix opens without truncating; what the program writes later may need a Truncate under the lock.
package locktrunc
