package dataroot

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
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

var (
	errReserved = errors.New("this name is solehold's own")
	errLink     = errors.New("a link leads there, and may lead to solehold's own files; give the folder itself")
)

// Space is a part of a root. Names are slash-separated paths as in io/fs; none
// leads out, whatever links are below. Reading follows a link inside, writing and
// removing go through none: they take its place. Its methods may be called from any
// goroutine.
type Space struct {
	root  *os.Root
	alive context.Context // of the lock; nil for none
}

// Open opens a file for reading (fs.FS).
func (s *Space) Open(name string) (fs.File, error) { return s.root.FS().Open(name) }

// tempName begins the names of files that are being written.
const tempName = ".new-"

// isTemp reports whether a name is that of such a file.
func isTemp(name string) bool { return made(name, tempName) }

// WriteFile implements Storage. The data is on the disk when it returns. The file
// has mode 0600. Nothing is written once the lock of the root is lost or released:
// the error is then the cause.
func (s *Space) WriteFile(name string, data []byte) error {
	if err := s.writable(name); err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	if err := s.folders(path.Dir(name)); err != nil {
		return err
	}
	return s.replace(name, data)
}

// replace writes the file apart and moves it to its place.
func (s *Space) replace(name string, data []byte) error {
	dir := path.Dir(name)
	next := path.Join(dir, tempName+rand.Text())
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

// folders makes a folder and those above, each of them on the disk: a file is not
// safe in one that a power loss takes away.
func (s *Space) folders(dir string) error {
	if st, err := s.root.Stat(dir); err == nil && st.IsDir() {
		return nil
	} else if dir == "." {
		return err // the space is closed
	}
	above := path.Dir(dir)
	if err := s.folders(above); err != nil {
		return err
	}
	if err := s.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.sync(above)
}

// tidy removes what an owner that died left while it wrote. What cannot be removed
// does no harm.
func (s *Space) tidy() {
	fs.WalkDir(s.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && isTemp(e.Name()) {
			s.root.Remove(name)
		}
		return nil
	})
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
	err = f.Sync()
	for _, cannot := range []error{errors.ErrUnsupported, fs.ErrPermission, syscall.EINVAL} {
		if errors.Is(err, cannot) {
			return nil // this file system does not sync directories
		}
	}
	return err
}

// Remove implements Storage.
func (s *Space) Remove(name string) error {
	if err := s.writable(name); err != nil {
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
	if err := s.unlinked(name); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	root, err := s.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Space{root, s.alive}, nil
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

// writable refuses what is no path of a file, what is ours, and everything when the
// lock is no longer ours.
func (s *Space) writable(name string) error {
	if s.alive != nil && s.alive.Err() != nil {
		return context.Cause(s.alive)
	}
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return fs.ErrInvalid
	}
	for part := range strings.SplitSeq(name, "/") {
		if reserved(part) {
			return errReserved
		}
	}
	return s.unlinked(path.Dir(name))
}

// unlinked refuses a folder that a link leads to: it may lead to our files.
func (s *Space) unlinked(dir string) error {
	for ; dir != "."; dir = path.Dir(dir) {
		if st, err := s.root.Lstat(dir); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return errLink
		}
	}
	return nil
}

// reserved reports whether a name is ours, in any spelling that some file system
// takes for the same.
func reserved(name string) bool {
	plain, _, _ := strings.Cut(strings.ToLower(name), ":") // a stream, on Windows
	plain = strings.TrimRight(plain, ". ")
	return plain == metaName || plain == ".solehold" || isTemp(name)
}
