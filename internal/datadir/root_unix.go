//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package datadir

import (
	"os"

	"golang.org/x/sys/unix"
)

// is returns nil when root is this directory.
func (s *State) is(root *os.Root) error {
	var mine unix.Stat_t
	if err := unix.Fstat(s.fd, &mine); err != nil {
		return err
	}
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	var there unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &there); err != nil {
		return err
	}
	if keyOf(&there) != keyOf(&mine) {
		return ErrMoved
	}
	return nil
}

// paths are those that may lead to this directory, the best first.
func (s *State) paths() []string { return []string{self(s.fd), s.path} }

func (s *State) rename(from, to string, over bool) error {
	if over {
		return unix.Renameat(s.fd, from, s.fd, to)
	}
	return renameNew(s.fd, from, to)
}

func (s *State) unlink(name string) error { return unix.Unlinkat(s.fd, name, 0) }

// renameAsking asks first, where the system cannot do both in one step.
func renameAsking(dir int, from, to string) error {
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, to, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case nil:
		return unix.EEXIST
	case unix.ENOENT:
		return unix.Renameat(dir, from, dir, to)
	default:
		return err
	}
}
