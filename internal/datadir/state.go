package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// purpose is what a file of the state directory is opened for.
type purpose int

const (
	toRead    purpose = iota // it must be there
	toWrite                  // made where it is missing
	toAppend                 // made where it is missing
	toMake                   // it must not be there yet
	toLock                   // the lock file, which must be there
	toLockNew                // the lock file, which must not be there yet
)

// StateOf opens the state directory of a data directory by their paths: at
// statePath if that is given, else where the data directory says that it is, else
// inside. ErrNoState says that there is a data directory and nothing of ours.
func StateOf(dir, statePath string) (*State, error) {
	d, err := Open(dir)
	if err != nil {
		return nil, err
	}
	s, err := d.findState(statePath)
	if err != nil {
		d.Close()
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.Join(ErrNoState, err)
		}
		return nil, err
	}
	s.whole = true
	return s, nil
}

func (d *Dir) findState(path string) (*State, error) {
	if path == "" {
		paired, err := d.PairedState()
		if err != nil {
			return nil, err
		}
		path = paired
	}
	if path == "" {
		return d.OpenState(false)
	}
	return d.OpenStateAt(path)
}

// Path returns the state directory's path for messages.
func (s *State) Path() string { return s.path }

// OpenLock opens the lock file for writing; with create a missing one is made,
// never an existing one truncated.
func (s *State) OpenLock(create bool) (File, error) {
	for range 8 { // between two starters that create and a remover that removes
		f, err := s.open(LockName, toLock)
		if !create || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		f, err = s.open(LockName, toLockNew)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return File{}, &fs.PathError{Op: "open", Path: filepath.Join(s.path, LockName), Err: syscall.EAGAIN}
}

// OpenRead opens a file of the state directory for reading.
func (s *State) OpenRead(name string) (File, error) { return s.open(name, toRead) }

// OpenAppend opens the history for appending and reading, creating it.
func (s *State) OpenAppend(name string) (File, error) {
	return s.open(name, toAppend)
}

// OpenWrite opens a small file for reading and writing, creating it.
func (s *State) OpenWrite(name string) (File, error) {
	return s.open(name, toWrite)
}

// SameLock returns nil when the lock's path leads to f, and ErrMoved when it
// was removed or replaced.
func (s *State) SameLock(f File) error { return s.Same(LockName, f) }

// Rename moves a file within the state directory, never the lock, nor over it.
func (s *State) Rename(from, to string) error {
	if from == LockName || to == LockName {
		return s.error("rename", from, syscall.EPERM)
	}
	return s.error("rename", from, s.rename(from, to, true))
}

// Remove removes a file of the state directory, never the lock.
func (s *State) Remove(name string) error {
	if name == LockName {
		return s.error("remove", name, syscall.EPERM)
	}
	return s.error("remove", name, s.unlink(name))
}

func (s *State) error(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: filepath.Join(s.path, name), Err: err}
}

// Open implements fs.FS for the readers of the history: plain files only.
func (s *State) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := s.OpenRead(name)
	if err != nil {
		return nil, err
	}
	return os.NewFile(f.FD(), f.path), nil
}
