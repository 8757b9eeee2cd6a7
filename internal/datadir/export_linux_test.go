package datadir

import "golang.org/x/sys/unix"

// OpenNew opens a file that must not exist yet.
func OpenNew(s *State, name string) (File, error) {
	return s.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
}
