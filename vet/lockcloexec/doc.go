// Package lockcloexec reports a lock on a descriptor that was opened without close-on-exec.
//
// Every program that is started meanwhile inherits the descriptor and with it the lock. When the owner dies, a forgotten
// child keeps the lock, and nobody can start.
//
// WRONG
//
//	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT, 0o666)
//	err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
//
// RIGHT
//
//	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o666)
//	err = syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
//
// Files of package os have it always. A descriptor for which the package calls CloseOnExec or sets the flag by fcntl is
// not reported, although a program started in between inherits it.
package lockcloexec
