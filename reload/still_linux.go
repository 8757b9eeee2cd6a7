package reload

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setSignal is F_SETSIG of fcntl(2).
const setSignal = 10

// stillness is a time in which nobody writes to a file.
type stillness struct {
	f      *os.File
	proven bool // by the kernel: nobody has it open for writing
}

// openToRead opens without waiting: a fifo in the file's place must not hang us.
func openToRead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
}

// keepStill takes shared locks, which wait for no one and keep out those who ask
// for locks before they write, and a read lease: the kernel gives one only while
// nobody has the file open for writing, and lets nobody open it so until the lease
// ends. The error is errBusy while somebody writes.
func keepStill(f *os.File) (s stillness, err error) {
	s.f = f
	fd := int(f.Fd())
	whole := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &whole); held(err) {
		return s, errBusy
	}
	if err := unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB); held(err) {
		s.end()
		return s, errBusy
	}
	// A writer that comes is told to us by a signal, SIGIO by default, which a
	// program may pass on to others. SIGURG Go's runtime takes for its own.
	unix.FcntlInt(uintptr(fd), setSignal, int(unix.SIGURG))
	switch _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); {
	case err == nil:
		s.proven = true
	case err == unix.EAGAIN: // EACCES says that the file is another user's
		s.end()
		return s, errBusy
	}
	return s, nil // without a lease: another user's file, or a file system that has none
}

func held(err error) bool { return err == unix.EAGAIN || err == unix.EACCES }

// broken reports whether a writer has asked for the file meanwhile: then it may have
// been let in, after the time that the kernel gives us (lease-break-time of
// proc(5)), if we were stopped for so long.
func (s stillness) broken() bool {
	if !s.proven {
		return false
	}
	kind, err := unix.FcntlInt(s.f.Fd(), unix.F_GETLEASE, 0)
	return err != nil || kind != unix.F_RDLCK
}

// changed is when a file was written to: the time of its inode, which no program
// can set, as those that copy do with the time of the content.
func changed(st fs.FileInfo) time.Time {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return time.Unix(sys.Ctim.Unix())
	}
	return st.ModTime()
}

// end gives all back.
func (s stillness) end() {
	fd := int(s.f.Fd())
	if s.proven {
		unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	}
	unix.Flock(fd, unix.LOCK_UN)
	none := unix.Flock_t{Type: unix.F_UNLCK}
	unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &none)
}
