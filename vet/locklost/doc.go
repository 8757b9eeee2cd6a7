// Package locklost reports a lock that ends at some garbage collection, or that nobody can let go.
//
// An *os.File that nobody uses any more is closed by the garbage collector, and the lock on it ends, minutes later and
// in production only. Its number from Fd keeps nothing alive.
//
// WRONG
//
//	func only(path string) error {
//		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
//		...
//		return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
//	}
//
//	_, err := lockedfile.Edit(path)
//
// RIGHT
//
//	func only(path string) (*os.File, error) {
//		...
//		return f, nil // the caller keeps it, or closes it in a defer
//	}
//
// A file that is returned, stored, passed on, captured by a closure, closed, or kept by runtime.KeepAlive is not
// reported. The same goes for the values of lock libraries that carry such a file. The result of a lock constructor
// that is dropped is reported whatever it is made of: such a lock cannot be released.
package locklost
