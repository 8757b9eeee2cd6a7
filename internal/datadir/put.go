package datadir

import (
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
)

// PutNew makes a small file under its name in one step, so that nobody sees a
// part of it. fs.ErrExist says that something has the name already, which is
// left alone.
func (s *State) PutNew(name string, content []byte) error { return s.put(name, content, false) }

// Put is PutNew that takes the place of whatever plain name is there: a symlink
// is replaced and not followed.
func (s *State) Put(name string, content []byte) error { return s.put(name, content, true) }

func (s *State) put(name string, content []byte, over bool) error {
	if name == LockName {
		return s.error("replace", name, syscall.EPERM)
	}
	next := name + "." + strconv.Itoa(os.Getpid()) + "." + strconv.FormatUint(rand.Uint64(), 36)
	f, err := s.open(next, toMake)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.move(next, name, over)
	}
	if err != nil {
		s.unlink(next)
	}
	return err
}

// Move renames a file of the state directory to a name that nothing has yet;
// fs.ErrExist says that something has it.
func (s *State) Move(from, to string) error {
	if from == LockName || to == LockName {
		return s.error("rename", from, syscall.EPERM)
	}
	return s.move(from, to, false)
}

func (s *State) move(from, to string, over bool) error {
	return s.error("rename", to, s.rename(from, to, over))
}
