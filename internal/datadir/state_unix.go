//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package datadir

import (
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

func (s *State) make() error {
	mode := uint32(s.dir.stat.Mode)&0o770 | 0o700
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
		return &RefusedError{Path: path, Why: "it is " + kind(uint32(st.Mode)) + " owned by " + who(st.Uid) + ", not a file that solehold made"}
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

func (s *State) open(name string, what purpose) (File, error) {
	return s.openFor(name, flagsOf(what))
}

func flagsOf(what purpose) int {
	switch what {
	case toWrite:
		return unix.O_RDWR | unix.O_CREAT
	case toAppend:
		return unix.O_RDWR | unix.O_APPEND | unix.O_CREAT
	case toMake, toLockNew:
		return unix.O_RDWR | unix.O_CREAT | unix.O_EXCL
	case toLock:
		return unix.O_RDWR
	}
	return unix.O_RDONLY
}

func (s *State) openFor(name string, flags int) (File, error) {
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
	err := s.give(fd, uint32(s.dir.stat.Mode)&0o660|0o600)
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
		err = &RefusedError{Path: f.path, Why: "it is " + kind(uint32(st.Mode)) + " owned by " + who(st.Uid) + ", not a plain file"}
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

func (s *State) key() (Key, error) {
	var st unix.Stat_t
	err := unix.Fstat(s.fd, &st)
	return keyOf(&st), err
}

// hasOwnState reports whether there is a lock in d's own state directory, if that
// is not the directory other.
func (d *Dir) hasOwnState(other Key) bool {
	var lock, state unix.Stat_t
	return unix.Fstatat(d.fd, StateName+"/"+LockName, &lock, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		unix.Fstatat(d.fd, StateName, &state, unix.AT_SYMLINK_NOFOLLOW) == nil && keyOf(&state) != other
}

// Here returns nil when the path of the state directory leads to it, and ErrMoved
// when it was removed or replaced.
func (s *State) Here() error {
	at, path, flags := s.dir.fd, StateName, unix.AT_SYMLINK_NOFOLLOW
	if s.away {
		at, path, flags = unix.AT_FDCWD, s.path, 0 // which was followed to open it
	}
	var there unix.Stat_t
	mine, err := s.key()
	if err == nil {
		err = unix.Fstatat(at, path, &there, flags)
	}
	if err == unix.ENOENT || err == unix.ENOTDIR || err == nil && keyOf(&there) != mine {
		return ErrMoved
	}
	return s.error("stat", ".", err)
}
