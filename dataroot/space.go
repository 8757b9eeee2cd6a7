package dataroot

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Storage is what code should be given in place of a path: files to read, and a
// way to write each of them as a whole. [Space] is one.
type Storage interface {
	fs.FS
	// WriteFile gives a file new content in one step: readers see the old or the
	// new one, also after a crash. Folders on the way are made.
	WriteFile(name string, data []byte) error
	// Remove removes a file or an empty folder.
	Remove(name string) error
}

var errReserved = errors.New("this name is solehold's own")

// Space is a part of a root. Names are slash-separated paths as in io/fs; none
// leads out, whatever links are below. Its methods may be called from any
// goroutine.
type Space struct{ root *os.Root }

// Open opens a file for reading (fs.FS).
func (s *Space) Open(name string) (fs.File, error) { return s.root.FS().Open(name) }

// WriteFile implements Storage. The data is on the disk when it returns.
func (s *Space) WriteFile(name string, data []byte) error {
	if err := writable(name); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	dir := path.Dir(name)
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	next := path.Join(dir, ".new-"+rand.Text()+"-"+path.Base(name))
	err := s.create(next, data)
	if err == nil {
		err = s.root.Rename(next, name)
	}
	if err != nil {
		s.root.Remove(next)
		return err
	}
	return s.sync(dir)
}

func (s *Space) create(name string, data []byte) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// sync makes a rename outlive a power loss, where the system can do that.
func (s *Space) sync(dir string) error {
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// Remove implements Storage.
func (s *Space) Remove(name string) error {
	if err := writable(name); err != nil {
		return &fs.PathError{Op: "remove", Path: name, Err: err}
	}
	return s.root.Remove(name)
}

// Space returns the part below a folder, which is made if it is missing. Its name
// is bound as that of a service is: see CheckName.
func (s *Space) Space(name string) (*Space, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := s.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := s.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Space{root}, nil
}

// Close closes a space that Space returned.
func (s *Space) Close() error { return s.root.Close() }

// Usage is how much there is.
type Usage struct {
	// Bytes is the length of all files together.
	Bytes int64 `json:"bytes"`
	// Files counts them.
	Files int `json:"files"`
	// Quota is what was agreed on, 0 for nothing.
	Quota int64 `json:"quota,omitempty"`
}

// Over reports whether there is more than was agreed on.
func (u Usage) Over() bool { return u.Quota > 0 && u.Bytes > u.Quota }

// String says it for people.
func (u Usage) String() string {
	text := fmt.Sprintf("%d bytes in %d files", u.Bytes, u.Files)
	if u.Quota > 0 {
		text += fmt.Sprintf(", of %d", u.Quota)
	}
	return text
}

// Usage counts what is in the space. Links are not followed, and files that come
// and go meanwhile may be missing.
func (s *Space) Usage() (Usage, error) {
	var u Usage
	err := fs.WalkDir(s.root.FS(), ".", func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			u.Bytes += info.Size()
			u.Files++
		}
		return nil
	})
	return u, err
}

// writable refuses what is no path of a file, and what is ours.
func writable(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, "\\") {
		return fs.ErrInvalid
	}
	if first, _, _ := strings.Cut(name, "/"); first == metaName || first == ".solehold" {
		return errReserved
	}
	return nil
}
