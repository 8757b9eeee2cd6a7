package datadir

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// State is the open state directory of a data directory. While it is open nobody
// can remove or rename it.
type State struct {
	h    windows.Handle
	dir  *Dir
	path string // for messages
	away bool   // not inside the data directory

	whole bool // the data directory was opened with it, and is closed with it
}

// OpenState opens the directory of solehold's files. With create it is made with
// the rights that the data directory hands down; without, a missing one is
// fs.ErrNotExist.
func (d *Dir) OpenState(create bool) (*State, error) {
	s := &State{dir: d, path: filepath.Join(d.path, StateName)}
	how := request{access: dirAccess, share: windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE, disposition: windows.FILE_OPEN, options: windows.FILE_DIRECTORY_FILE}
	if create {
		how.disposition = windows.FILE_OPEN_IF
	}
	h, err := openAt(d.h, StateName, how)
	if err == windows.ERROR_DIRECTORY {
		return nil, &RefusedError{Path: s.path, Why: "it is a file, not a directory that solehold made"}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: s.path, Err: err}
	}
	s.h = h
	return s, s.checked()
}

// OpenStateAt opens a state directory that lies outside the data directory and
// belongs to d.
func (d *Dir) OpenStateAt(path string) (*State, error) {
	there, err := Open(path)
	if err != nil {
		return nil, err
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return &State{h: there.h, dir: d, path: path, away: true}, nil
}

// checked refuses a link in the directory's place.
func (s *State) checked() error {
	var info windows.ByHandleFileInformation
	err := windows.GetFileInformationByHandle(s.h, &info)
	if err == nil && info.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		err = &RefusedError{Path: s.path, Why: "it is a link, not a directory that solehold made"}
	}
	if err != nil {
		closeHandle(s.h)
	}
	return err
}

// Close closes the state directory.
func (s *State) Close() error {
	if s.whole {
		s.dir.Close()
	}
	return windows.CloseHandle(s.h)
}

// FD returns the handle of the state directory.
func (s *State) FD() uintptr { return uintptr(s.h) }

// Same returns nil when a name in the state directory leads to f, and ErrMoved
// when it was removed or replaced.
func (s *State) Same(name string, f File) error {
	h, err := openAt(s.h, name, request{access: windows.FILE_READ_ATTRIBUTES, share: shareAll, disposition: windows.FILE_OPEN})
	if err == windows.ERROR_FILE_NOT_FOUND || err == windows.ERROR_PATH_NOT_FOUND {
		return ErrMoved
	}
	if err != nil {
		return f.error("stat", err)
	}
	defer closeHandle(h)
	key, err := keyOf(h)
	if err == nil && key != f.key {
		return ErrMoved
	}
	return f.error("stat", err)
}

func (s *State) open(name string, what purpose) (File, error) {
	f := File{path: filepath.Join(s.path, name)}
	h, err := openAt(s.h, name, requestFor(what))
	if err == windows.ERROR_ACCESS_DENIED && s.isDir(name) {
		return File{}, &RefusedError{Path: f.path, Why: "it is a directory, not a plain file"}
	}
	if err != nil {
		return File{}, &fs.PathError{Op: "open", Path: f.path, Err: err}
	}
	f.h = h
	return f.regular()
}

func (s *State) isDir(name string) bool {
	h, err := openAt(s.h, name, request{access: windows.FILE_READ_ATTRIBUTES, share: shareAll, disposition: windows.FILE_OPEN, options: windows.FILE_DIRECTORY_FILE})
	closeHandle(h)
	return err == nil
}

// requestFor opens small files so that others may rename them away, and the lock
// file so that nobody can while it is open.
func requestFor(what purpose) request {
	const read, write = windows.FILE_GENERIC_READ, windows.FILE_GENERIC_WRITE
	r := request{access: read | write, share: shareAll, disposition: windows.FILE_OPEN_IF, options: windows.FILE_NON_DIRECTORY_FILE}
	switch what {
	case toRead:
		r.access, r.disposition = read, windows.FILE_OPEN
	case toAppend:
		r.access = read | windows.FILE_APPEND_DATA
	case toMake:
		r.disposition = windows.FILE_CREATE
	case toLock, toLockNew:
		r.share, r.disposition = windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, windows.FILE_OPEN
		if what == toLockNew {
			r.disposition = windows.FILE_CREATE
		}
	}
	return r
}

// regular refuses everything but a plain file with one name.
func (f File) regular() (File, error) {
	var info windows.ByHandleFileInformation
	err := f.error("stat", windows.GetFileInformationByHandle(f.h, &info))
	switch {
	case err != nil:
	case info.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		err = &RefusedError{Path: f.path, Why: "it is a link, not a plain file"}
	case info.NumberOfLinks > 1:
		err = &RefusedError{Path: f.path, Why: "it has a second name (hard link), so it may be somebody else's file"}
	default:
		f.key, err = keyOf(f.h)
		err = f.error("stat", err)
	}
	if err != nil {
		closeHandle(f.h)
	}
	return f, err
}

func (s *State) key() (Key, error) { return keyOf(s.h) }

// paths are those that may lead to this directory.
func (s *State) paths() []string { return []string{plain(finalPath(s.h))} }

// is returns nil when root is this directory.
func (s *State) is(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	there, err := keyOf(windows.Handle(f.Fd()))
	if err != nil {
		return err
	}
	if mine, err := s.key(); err != nil || mine != there {
		return ErrMoved
	}
	return nil
}

// hasOwnState reports whether there is a lock in d's own state directory, if that
// is not the directory other.
func (d *Dir) hasOwnState(other Key) bool {
	own, err := KeyOf(filepath.Join(d.Path(), StateName))
	if err != nil || own == other {
		return false
	}
	_, err = KeyOf(filepath.Join(d.Path(), StateName, LockName))
	return err == nil
}

// Here returns nil: an open directory can be neither removed nor renamed.
func (s *State) Here() error { return nil }
