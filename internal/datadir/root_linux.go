package datadir

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Root opens the state directory once more for those who make folders in it, as
// incidents are. It is the very directory that was checked: through /proc no
// name is followed, and where /proc is not mounted, or shows something else, the
// path is, but only if it still leads there. The caller closes it.
func (s *State) Root() (*os.Root, error) {
	var errs []error
	for _, path := range []string{"/proc/self/fd/" + strconv.Itoa(s.fd), s.path} {
		root, err := os.OpenRoot(path)
		if err == nil {
			if err = s.is(root); err == nil {
				return root, nil
			}
			root.Close()
		}
		errs = append(errs, err)
	}
	return nil, s.error("open", ".", cause(errs[len(errs)-1]))
}

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

// cause is the errno of an error that names a path of its own.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// PutNew makes a small file under its name in one step, so that nobody sees a
// part of it. fs.ErrExist says that something has the name already, which is
// left alone.
func (s *State) PutNew(name string, content []byte) error { return s.put(name, content, false) }

// Put is PutNew that takes the place of whatever plain name is there: a symlink
// is replaced and not followed.
func (s *State) Put(name string, content []byte) error { return s.put(name, content, true) }

func (s *State) put(name string, content []byte, over bool) error {
	if name == LockName {
		return s.error("replace", name, unix.EPERM)
	}
	next := name + "." + strconv.Itoa(os.Getpid()) + "." + strconv.FormatUint(rand.Uint64(), 36)
	f, err := s.open(next, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.move(next, name, over)
	}
	if err != nil {
		unix.Unlinkat(s.fd, next, 0)
	}
	return err
}

// Move renames a file of the state directory to a name that nothing has yet;
// fs.ErrExist says that something has it.
func (s *State) Move(from, to string) error {
	if from == LockName || to == LockName {
		return s.error("rename", from, unix.EPERM)
	}
	return s.move(from, to, false)
}

func (s *State) move(from, to string, over bool) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if over {
		flags = 0
	}
	err := unix.Renameat2(s.fd, from, s.fd, to, flags)
	if err == unix.EINVAL && !over { // a file system without that flag: ask first
		var st unix.Stat_t
		if err = unix.Fstatat(s.fd, to, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
			err = unix.EEXIST
		} else if err == unix.ENOENT {
			err = unix.Renameat(s.fd, from, s.fd, to)
		}
	}
	return s.error("rename", to, err)
}
