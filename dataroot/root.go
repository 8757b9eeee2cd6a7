package dataroot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/solehold/solehold"
)

// Options are the choices of Open. The zero value is good for a service of which
// there is one.
type Options struct {
	// Instance tells apart what runs beside each other under one name.
	Instance string
	// Fresh makes a root of an instance that never was, named after the UUID that
	// the root keeps: u and twelve digits. Instance must be empty; Root.Meta tells
	// it, and with it as Instance the root is opened again.
	Fresh bool
	// Ephemeral makes a new root one that GC removes when its owner is gone.
	Ephemeral bool
	// MustExist refuses to make a new root.
	MustExist bool
	// Quota is how many bytes were agreed on. Usage reports it.
	Quota int64
	// Pins is where it is written down on which disk each root was born; by
	// default PinsDir.
	Pins string
	// NoPin does not write it down, for a user that has no place for such notes:
	// then the root is made anew where its disk is not mounted.
	NoPin bool
	// Adopt takes the disk that the root lies on now for its own: it was moved on
	// purpose.
	Adopt bool
	// Lock changes how the root is locked. OnWarning is told of a *PlaceError too,
	// and Strict refuses one.
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
// a *NameError, a *BaseError, a *PlaceError, a *PinnedError, or of the file system.
// An ephemeral root that is opened without Ephemeral stays from then on.
func Open(ctx context.Context, base, name string, o *Options) (*Root, error) {
	if o == nil {
		o = &Options{}
	}
	meta := Meta{Format: 1, Name: name, Instance: o.Instance, Ephemeral: o.Ephemeral}
	if o.Fresh {
		if o.Instance != "" {
			return nil, &NameError{o.Instance, "a fresh instance is named after its UUID"}
		}
		meta.UUID = newUUID()
		meta.Instance = "u" + meta.UUID[:8] + meta.UUID[9:13]
	}
	dir, err := folder(name, meta.Instance)
	if err != nil {
		return nil, err
	}
	if base, err = checkBase(base); err != nil {
		return nil, err
	}
	p := opening{o: *o, base: base, path: filepath.Join(base, dir), meta: meta}
	if err := p.odd(ctx); err != nil {
		return nil, err
	}
	for range movedRounds {
		r, err := p.try(ctx)
		if !errors.Is(err, errMoved) {
			return r, err
		}
	}
	return nil, fmt.Errorf("%s: it is removed as often as it is made", p.path)
}

// opening is one attempt to open a root.
type opening struct {
	o          Options
	base, path string
	meta       Meta
}

var errMoved = errors.New("the root was removed while it was opened")

func (p opening) try(ctx context.Context) (*Root, error) {
	if err := p.make(); err != nil {
		return nil, err
	}
	crashed := p.crashed(ctx)
	lock, err := solehold.Acquire(ctx, p.path, &p.o.Lock)
	if errors.Is(err, fs.ErrNotExist) && !p.o.MustExist {
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	r, err := p.locked(lock)
	if err != nil {
		return nil, errors.Join(err, lock.Abandon())
	}
	if crashed {
		r.tidy()
	}
	return r, nil
}

// crashed reports whether the owner before may have died while it wrote.
func (p opening) crashed(ctx context.Context) bool {
	s, err := solehold.Inspect(ctx, p.path, &p.o.Lock)
	return err != nil || s.Record.Class != "none" && s.Record.Class != "released"
}

// locked reads or writes the description of a root that is ours now.
func (p opening) locked(lock *solehold.Lock) (*Root, error) {
	root, err := os.OpenRoot(lock.Dir())
	if err != nil {
		return nil, err
	}
	r := &Root{Space: &Space{root, lock.Context()}, lock: lock, quota: p.o.Quota}
	if !sameDir(root, p.path) {
		root.Close()
		return nil, errMoved
	}
	if r.meta, err = p.describe(root); err != nil {
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

func (p opening) describe(root *os.Root) (Meta, error) {
	here := deviceOf(p.path)
	m, err := readMeta(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !unused(root) {
			return m, fmt.Errorf("%s: %w", p.path, ErrStranger)
		}
		m = p.newMeta(here)
	case err != nil:
		return m, err
	case p.o.Fresh && m.UUID != p.meta.UUID:
		return m, fmt.Errorf("%s: it was there before: %w", p.path, fs.ErrExist)
	case m.Name != p.meta.Name || m.Instance != p.meta.Instance:
		return m, fmt.Errorf("%s: it is the root of %s%s", p.path, m.Name, at(m.Instance))
	case !m.Device.same(here) && !p.o.Adopt:
		return m, &PinnedError{Path: p.path, Born: m.Device, Here: here, Root: true}
	case m.Device.same(here) && (!m.Ephemeral || p.o.Ephemeral):
		return m, p.pinned(m)
	default:
		m.Ephemeral = m.Ephemeral && p.o.Ephemeral // who does not say so wants it to stay
		m.Device = here
	}
	if err := p.pinned(m); err != nil {
		return m, err
	}
	return m, p.write(root, m)
}

// pinned makes sure that there is a note for a root that stays.
func (p opening) pinned(m Meta) error {
	p.o.Ephemeral = m.Ephemeral
	return p.pin(m.Device)
}

// unused reports whether nothing but ours is there.
func unused(root *os.Root) bool {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if e.Name() != ".solehold" && !isTemp(e.Name()) {
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

// pin refuses a root that was born on another disk, and writes down where one that
// stays is born.
func (p opening) pin(here Device) error {
	known, err := p.elsewhere(here)
	if err != nil || known || p.o.NoPin || p.o.Ephemeral {
		return err
	}
	return p.pins().put(p.path, here)
}

// elsewhere refuses a disk other than the one that is noted; known says that this
// one is.
func (p opening) elsewhere(here Device) (known bool, err error) {
	if p.o.NoPin || p.o.Ephemeral || p.o.Adopt {
		return false, nil
	}
	was, err := p.pins().read(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !was.same(here):
		return false, &PinnedError{Path: p.path, Born: was, Here: here}
	}
	return true, nil
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
