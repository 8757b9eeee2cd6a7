// Package unix has the system calls of Linux that the tests use, by name and value.
package unix

const (
	LOCK_SH     = 1
	LOCK_EX     = 2
	LOCK_NB     = 4
	LOCK_UN     = 8
	F_SETFD     = 2
	F_GETLK     = 5
	F_SETLK     = 6
	F_SETLKW    = 7
	F_OFD_SETLK = 37
	F_WRLCK     = 1
	F_UNLCK     = 2
	FD_CLOEXEC  = 1
	O_RDWR      = 2
	O_CREAT     = 64
	O_TRUNC     = 512
	O_CLOEXEC   = 0x80000
	PROT_READ   = 1
	MAP_SHARED  = 1
	MAP_ANON    = 32
	AT_FDCWD    = -100
)

type Flock_t struct {
	Type int16
}

type Signal int

func Flock(fd, how int) error                                          { return nil }
func FcntlFlock(fd uintptr, cmd int, lk *Flock_t) error                { return nil }
func FcntlInt(fd uintptr, cmd, arg int) (int, error)                   { return 0, nil }
func Open(path string, mode int, perm uint32) (int, error)             { return 0, nil }
func Openat(dir int, path string, flags int, mode uint32) (int, error) { return 0, nil }
func Dup(fd int) (int, error)                                          { return 0, nil }
func Close(fd int) error                                               { return nil }
func CloseOnExec(fd int)                                               {}
func Unlink(path string) error                                         { return nil }
func Kill(pid int, sig Signal) error                                   { return nil }
func Mmap(fd int, off int64, n, prot, flags int) ([]byte, error)       { return nil, nil }
func Munmap(b []byte) error                                            { return nil }
