//go:build unix && !linux

package reload

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// stillness is a time in which nobody who locks writes to a file.
type stillness struct {
	f      *os.File
	proven bool
}

// openToRead opens without waiting: a fifo in the file's place must not hang us.
func openToRead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
}

// keepStill takes a shared lock; errBusy says that a writer has it.
func keepStill(f *os.File) (stillness, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return stillness{}, errBusy
	}
	return stillness{f: f}, nil
}

func (s stillness) end() { unix.Flock(int(s.f.Fd()), unix.LOCK_UN) }

// broken: there is no lease.
func (s stillness) broken() bool { return false }

func changed(st fs.FileInfo) time.Time { return st.ModTime() }
