package dataroot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/solehold/solehold"
)

// Options are the choices of Open. The zero value is good for a service of which
// there is one.
type Options struct {
	// Instance tells apart what runs beside each other under one name.
	Instance string
	// Ephemeral makes a new root one that GC removes when its owner is gone.
	Ephemeral bool
	// MustExist refuses to make a new root.
	MustExist bool
	// Quota is how many bytes were agreed on. Usage reports it.
	Quota int64
	// Pins is where it is written down on which disk each root was born; by
	// default PinsDir.
	Pins string
	// Lock changes how the root is locked.
	Lock solehold.Options
}

// Root is an open data root: it is locked until Close.
type Root struct {
	*Space
	lock  *solehold.Lock
	meta  Meta
	quota int64
}

// BaseError says that a directory is no place for roots.
type BaseError struct {
	// Base is the directory.
	Base string
	// Why is the reason in words.
	Why string
}

// Error names both.
func (e *BaseError) Error() string { return e.Base + ": no place for data roots: " + e.Why }

// ErrStranger says that the directory of a root has files and is no root.
var ErrStranger = errors.New("it has files and is no data root")

// movedRounds bounds how often a root that was removed while it was opened is made anew.
const movedRounds = 8

// Open opens the root of a service below base and locks it; a missing one is made,
// with mode 0700. The error is a *solehold.HeldError while another one has it,
// a *NameError, a *BaseError, a *PinnedError, or of the file system.
func Open(ctx context.Context, base, name string, o *Options) (*Root, error) {
	if o == nil {
		o = &Options{}
	}
	dir, err := folder(name, o.Instance)
	if err != nil {
		return nil, err
	}
	if base, err = checkBase(base); err != nil {
		return nil, err
	}
	p := opening{o: *o, base: base, path: filepath.Join(base, dir), meta: Meta{Format: 1, Name: name, Instance: o.Instance, Ephemeral: o.Ephemeral}}
	for range movedRounds {
		r, err := p.try(ctx)
		if !errors.Is(err, errMoved) {
			return r, err
		}
	}
	return nil, fmt.Errorf("%s: it is removed as often as it is made", p.path)
}

// checkBase makes a base absolute and refuses one that strangers may write to.
func checkBase(base string) (string, error) {
	abs, err := filepath.Abs(base)
	if err != nil || base == "" {
		return "", &BaseError{base, "its path is empty or cannot be told"}
	}
	st, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &BaseError{abs, "it does not exist; is the disk mounted?"}
	case err != nil:
		return "", err
	case !st.IsDir():
		return "", &BaseError{abs, "it is not a directory"}
	case open(st):
		return "", &BaseError{abs, "every user may write to it, and things in it are cleaned away by others"}
	}
	return filepath.EvalSymlinks(abs)
}

// opening is one attempt to open a root.
type opening struct {
	o          Options
	base, path string
	meta       Meta
}

var errMoved = errors.New("the root was removed while it was opened")

func (p opening) try(ctx context.Context) (*Root, error) {
	born, err := p.make()
	if err != nil {
		return nil, err
	}
	lock, err := solehold.Acquire(ctx, p.path, &p.o.Lock)
	if errors.Is(err, fs.ErrNotExist) && !p.o.MustExist {
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	r, err := p.locked(lock, born)
	if err != nil {
		return nil, errors.Join(err, lock.Abandon())
	}
	return r, nil
}

// make makes the directory, unless the disk that it was born on is missing.
func (p opening) make() (born bool, err error) {
	if _, err := os.Lstat(p.path); err == nil {
		return false, nil
	}
	if p.o.MustExist {
		return false, &fs.PathError{Op: "open", Path: p.path, Err: fs.ErrNotExist}
	}
	if err := p.pins().check(p.path, deviceOf(p.base)); err != nil {
		return false, err
	}
	err = os.Mkdir(p.path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// locked reads or writes the description of a root that is ours now.
func (p opening) locked(lock *solehold.Lock, born bool) (*Root, error) {
	root, err := os.OpenRoot(lock.Dir())
	if err != nil {
		return nil, err
	}
	r := &Root{Space: &Space{root}, lock: lock, quota: p.o.Quota}
	if !sameDir(root, p.path) {
		root.Close()
		return nil, errMoved
	}
	if r.meta, err = p.describe(root, born); err != nil {
		root.Close()
		return nil, err
	}
	return r, nil
}

func sameDir(root *os.Root, path string) bool {
	in, inErr := root.Stat(".")
	at, atErr := os.Lstat(path)
	return inErr == nil && atErr == nil && os.SameFile(in, at)
}

func (p opening) describe(root *os.Root, born bool) (Meta, error) {
	here := deviceOf(p.path)
	m, err := readMeta(root)
	switch {
	case err == nil && (m.Name != p.meta.Name || m.Instance != p.meta.Instance):
		return m, fmt.Errorf("%s: it is the root of %s%s", p.path, m.Name, at(m.Instance))
	case err == nil && !m.Device.same(here):
		return m, &PinnedError{Path: p.path, Born: m.Device, Here: here}
	case err == nil:
		return m, nil
	case !errors.Is(err, fs.ErrNotExist):
		return m, err
	}
	if !born && !empty(root) {
		return m, fmt.Errorf("%s: %w", p.path, ErrStranger)
	}
	m = p.meta
	m.UUID, m.Born, m.Device = newUUID(), time.Now().UTC(), here
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, err
	}
	s := Space{root}
	if err := s.create(metaName+".new", append(text, '\n')); err != nil && !errors.Is(err, fs.ErrExist) {
		return m, err
	}
	if err := root.Rename(metaName+".new", metaName); err != nil {
		return m, err
	}
	if m.Ephemeral {
		return m, nil
	}
	return m, p.pins().put(p.path, here)
}

// empty reports whether nothing but ours is there.
func empty(root *os.Root) bool {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if e.Name() != ".solehold" && e.Name() != metaName+".new" {
			return false
		}
	}
	return err == nil
}

func at(instance string) string {
	if instance == "" {
		return ""
	}
	return "@" + instance
}

func (p opening) pins() pins {
	if p.o.Pins != "" {
		return pins{p.o.Pins}
	}
	return pins{PinsDir()}
}

// Dir is the root's path, for programs that need one.
func (r *Root) Dir() string { return r.lock.Dir() }

// Lock is the lock of the root. It is released by Close.
func (r *Root) Lock() *solehold.Lock { return r.lock }

// Meta is what the root says of itself.
func (r *Root) Meta() Meta { return r.meta }

// Usage counts what is in the root.
func (r *Root) Usage() (Usage, error) {
	u, err := r.Space.Usage()
	u.Quota = r.quota
	return u, err
}

// Close gives the root back. What is in it stays, also of an ephemeral one, until
// GC comes.
func (r *Root) Close() error { return errors.Join(r.root.Close(), r.lock.Release()) }

// Path is where the root of a service is, or would be. It makes nothing.
func Path(base, name, instance string) (string, error) {
	dir, err := folder(name, instance)
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(base)
	return filepath.Join(abs, dir), err
}
