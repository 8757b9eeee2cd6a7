package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// State is the open state directory of a data directory.
type State struct {
	fd   int
	dir  *Dir
	path string // for messages, and for verification where it lies elsewhere
	away bool   // not inside the data directory

	whole bool // the data directory was opened with it, and is closed with it
}

// OpenState opens the directory of solehold's files. With create it is made
// with the data directory's owner and mode, less the world's rights; without,
// a missing one is fs.ErrNotExist.
func (d *Dir) OpenState(create bool) (*State, error) {
	s := &State{dir: d, path: filepath.Join(d.path, StateName)}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW
	fd, err := openAt(d.fd, StateName, flags)
	if err == unix.ENOENT && create {
		if err = s.make(); err == nil {
			fd, err = openAt(d.fd, StateName, flags)
		}
	}
	if err != nil {
		return nil, s.refuseLink(StateName, err)
	}
	s.fd = fd
	return s, s.checked()
}

// OpenStateAt opens a state directory that lies outside the data directory and
// belongs to d.
func (d *Dir) OpenStateAt(path string) (*State, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	fd, err := openAt(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	s := &State{fd: fd, dir: d, path: path, away: true}
	return s, s.checked()
}

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

func (s *State) make() error {
	mode := s.dir.stat.Mode&0o770 | 0o700
	err := unix.Mkdirat(s.dir.fd, StateName, mode)
	if err == unix.EEXIST {
		return nil
	}
	if err != nil {
		return err
	}
	fd, err := openAt(s.dir.fd, StateName, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := s.give(fd, mode); err != nil {
		return err
	}
	return unix.Fsync(s.dir.fd)
}

// give hands a new file or directory to the data directory's owner. Without
// this one start by root would lock the service's own user out for ever.
func (s *State) give(fd int, mode uint32) error {
	if os.Geteuid() == 0 && (s.dir.stat.Uid != 0 || s.dir.stat.Gid != 0) {
		if err := unix.Fchown(fd, int(s.dir.stat.Uid), int(s.dir.stat.Gid)); err != nil {
			return err
		}
	}
	return unix.Fchmod(fd, mode)
}

func (s *State) checked() error {
	var st unix.Stat_t
	err := unix.Fstat(s.fd, &st)
	if err == nil {
		err = s.sane(s.path, &st)
	}
	if err != nil {
		unix.Close(s.fd)
	}
	return err
}

// sane refuses what a stranger made or may change.
func (s *State) sane(path string, st *unix.Stat_t) error {
	switch {
	case st.Mode&0o002 != 0:
		return &RefusedError{Path: path, Why: "every user may write to it; take away that right (chmod o-w)"}
	case st.Uid != 0 && st.Uid != s.dir.stat.Uid && int(st.Uid) != os.Geteuid():
		return &RefusedError{Path: path, Why: "it belongs to " + who(st.Uid) + ", the data directory to " + who(s.dir.stat.Uid)}
	}
	return nil
}

// refuseLink tells a planted symlink from other errors of an open.
func (s *State) refuseLink(name string, err error) error {
	path := filepath.Join(filepath.Dir(s.path), name)
	if name != StateName {
		path = filepath.Join(s.path, name)
	}
	var st unix.Stat_t
	wrong := err == unix.ELOOP || err == unix.ENOTDIR || err == unix.ENXIO || err == unix.EISDIR
	if wrong && s.lstat(name, &st) == nil {
		return &RefusedError{Path: path, Why: "it is " + kind(st.Mode) + " owned by " + who(st.Uid) + ", not a file that solehold made"}
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

func (s *State) lstat(name string, st *unix.Stat_t) error {
	at := s.fd
	if name == StateName {
		at = s.dir.fd
	}
	return unix.Fstatat(at, name, st, unix.AT_SYMLINK_NOFOLLOW)
}

// Close closes the state directory.
func (s *State) Close() error {
	if s.whole {
		s.dir.Close()
	}
	return unix.Close(s.fd)
}

// FD returns the descriptor of the state directory.
func (s *State) FD() uintptr { return uintptr(s.fd) }

// Path returns the state directory's path for messages.
func (s *State) Path() string { return s.path }

// OpenLock opens the lock file for writing; with create a missing one is made,
// never an existing one truncated.
func (s *State) OpenLock(create bool) (File, error) {
	for range 8 { // between two starters that create and a remover that removes
		f, err := s.open(LockName, unix.O_RDWR)
		if !create || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		f, err = s.open(LockName, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return File{}, &fs.PathError{Op: "open", Path: filepath.Join(s.path, LockName), Err: unix.EAGAIN}
}

// OpenRead opens a file of the state directory for reading.
func (s *State) OpenRead(name string) (File, error) { return s.open(name, unix.O_RDONLY) }

// OpenAppend opens the history for appending and reading, creating it.
func (s *State) OpenAppend(name string) (File, error) {
	return s.open(name, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT)
}

// OpenWrite opens a small file for reading and writing, creating it.
func (s *State) OpenWrite(name string) (File, error) {
	return s.open(name, unix.O_RDWR|unix.O_CREAT)
}

func (s *State) open(name string, flags int) (File, error) {
	// O_NONBLOCK: a fifo in the file's place must not hang us.
	const safe = unix.O_NOFOLLOW | unix.O_NOCTTY | unix.O_NONBLOCK
	create, anew := flags&unix.O_CREAT != 0, flags&unix.O_EXCL != 0
	fd, err := -1, error(unix.ENOENT)
	if !anew {
		fd, err = openAt(s.fd, name, flags&^unix.O_CREAT|safe)
	}
	if err == unix.ENOENT && create {
		// O_CREAT only now: fs.protected_regular refuses it for somebody else's existing file.
		fd, err = openAt(s.fd, name, flags|safe|unix.O_EXCL)
		if err == nil {
			err = s.created(fd)
		}
		if err == unix.EEXIST && !anew {
			fd, err = openAt(s.fd, name, flags&^unix.O_CREAT|safe)
		}
	}
	if err != nil {
		return File{}, s.refuseLink(name, err)
	}
	return s.regular(File{fd: fd, path: filepath.Join(s.path, name)})
}

func (s *State) created(fd int) error {
	err := s.give(fd, s.dir.stat.Mode&0o660|0o600)
	if err == nil {
		err = unix.Fsync(s.fd)
	}
	if err != nil {
		unix.Close(fd)
	}
	return err
}

// regular refuses everything but a plain file with one name and a sane owner.
func (s *State) regular(f File) (File, error) {
	var st unix.Stat_t
	err := f.error("stat", unix.Fstat(f.fd, &st))
	f.key = keyOf(&st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = &RefusedError{Path: f.path, Why: "it is " + kind(st.Mode) + " owned by " + who(st.Uid) + ", not a plain file"}
	case st.Nlink > 1:
		err = &RefusedError{Path: f.path, Why: "it has a second name (hard link), so it may be somebody else's file"}
	default:
		err = s.sane(f.path, &st)
	}
	if err != nil {
		unix.Close(f.fd)
	}
	return f, err
}

// SameLock returns nil when the lock's path leads to f, and ErrMoved when it
// was removed or replaced.
func (s *State) SameLock(f File) error { return s.Same(LockName, f) }

// Same returns nil when a name in the state directory, by the path that others
// use, leads to f, and ErrMoved when it was removed or replaced.
func (s *State) Same(name string, f File) error {
	var st unix.Stat_t
	at, path := s.dir.fd, StateName+"/"+name
	if s.away {
		at, path = unix.AT_FDCWD, filepath.Join(s.path, name)
	}
	err := unix.Fstatat(at, path, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
		return ErrMoved
	}
	if err == nil && keyOf(&st) != f.key {
		return ErrMoved
	}
	return f.error("stat", err)
}

// Rename moves a file within the state directory, never the lock, nor over it.
func (s *State) Rename(from, to string) error {
	if from == LockName || to == LockName {
		return s.error("rename", from, unix.EPERM)
	}
	return s.error("rename", from, unix.Renameat(s.fd, from, s.fd, to))
}

// Remove removes a file of the state directory, never the lock.
func (s *State) Remove(name string) error {
	if name == LockName {
		return s.error("remove", name, unix.EPERM)
	}
	return s.error("remove", name, unix.Unlinkat(s.fd, name, 0))
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
