package dataroot

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// bornName begins the names of roots that are being made: nobody opens them.
const bornName = ".born-"

// make makes the root, unless the disk that it was born on is missing.
func (p opening) make() error {
	if _, err := os.Lstat(p.path); err == nil {
		if _, err := os.Lstat(filepath.Join(p.path, metaName)); errors.Is(err, fs.ErrNotExist) {
			_, err := p.elsewhere(deviceOf(p.path)) // it may be the place where that disk is to be mounted
			return err
		}
		return nil
	}
	if p.o.MustExist {
		return &fs.PathError{Op: "open", Path: p.path, Err: fs.ErrNotExist}
	}
	here := deviceOf(p.base)
	if err := p.pin(here); err != nil { // before the birth: a crash must not leave a root without its note
		return err
	}
	err := p.bear(here)
	if errors.Is(err, fs.ErrExist) {
		return nil // somebody else's
	}
	return err
}

// bear makes the root with its description in it elsewhere and moves it to its
// place as a whole: a crash leaves no directory of which nobody knows whether it
// may be removed.
func (p opening) bear(here Device) error {
	base, err := os.OpenRoot(p.base)
	if err != nil {
		return err
	}
	defer base.Close()
	name := bornName + rand.Text()
	if err := base.Mkdir(name, 0o700); err != nil {
		return err
	}
	cradle, err := base.OpenRoot(name)
	if err != nil {
		return moved(err)
	}
	defer cradle.Close()
	mine, err := claim(cradle)
	if mine == nil && !errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(err, errMoved) // GC was faster than we
	}
	defer mine.Close() // nil where the system has no such lock
	if err = p.write(cradle, p.newMeta(here)); err == nil {
		err = base.Rename(name, filepath.Base(p.path))
	}
	if err != nil {
		empty(base, name, cradle)
		return moved(err)
	}
	return (&Space{root: base}).sync(".")
}

// moved says of a missing cradle that GC took it.
func moved(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	return err
}

// newMeta is the description of a root that is born now.
func (p opening) newMeta(here Device) Meta {
	m := p.meta
	m.Born, m.Device = time.Now().UTC().Round(0), here
	if m.UUID == "" {
		m.UUID = newUUID()
	}
	return m
}

// write gives a root its description, in one step.
func (p opening) write(root *os.Root, m Meta) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return (&Space{root: root}).replace(metaName, append(text, '\n'))
}

// empty removes a cradle and what its maker puts into one; where there is more, it
// stays.
func empty(base *os.Root, name string, cradle *os.Root) error {
	entries, err := fs.ReadDir(cradle.FS(), ".")
	for _, e := range entries {
		if e.Name() == metaName || isTemp(e.Name()) {
			err = errors.Join(err, gone(cradle.Remove(e.Name())))
		}
	}
	return errors.Join(err, gone(base.Remove(name)))
}

// gone takes what is not there for removed, and what is not empty for somebody
// else's.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
