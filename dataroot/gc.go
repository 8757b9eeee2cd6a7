package dataroot

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/solehold/solehold"
)

// goneName begins the names of roots that are being removed: nobody opens them.
const goneName = ".gone-"

// Listed is one root below a base.
type Listed struct {
	// Meta is what it says of itself.
	Meta
	// Path is where it is.
	Path string `json:"path"`
	// Removed says that GC removed it, or would.
	Removed bool `json:"removed,omitempty"`
	// Kept is why GC left it, or would.
	Kept string `json:"kept,omitempty"`
}

// Usage counts what is in the root, without taking it.
func (l Listed) Usage() (Usage, error) {
	root, err := os.OpenRoot(l.Path)
	if err != nil {
		return Usage{}, err
	}
	defer root.Close()
	u, err := (&Space{root: root}).Usage()
	u.Quota = l.Quota
	return u, err
}

// List returns the roots below a base. What is no root is left out; one whose
// description cannot be read is there with the reason in Kept.
func List(base string) ([]Listed, error) {
	dir, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	var all []Listed
	for _, e := range entries {
		name, instance, ok := split(e.Name())
		if !ok || !e.IsDir() {
			continue
		}
		root, err := dir.OpenRoot(e.Name())
		if err != nil {
			continue
		}
		m, err := readMeta(root)
		root.Close()
		path := filepath.Join(base, e.Name())
		switch {
		case err == nil && m.Name == name && m.Instance == instance:
			all = append(all, Listed{Meta: m, Path: path})
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			all = append(all, Listed{Meta: Meta{Name: name, Instance: instance}, Path: path, Kept: err.Error()})
		}
	}
	return all, err
}

// GC removes the ephemeral roots below base that nobody has: while their lock is
// held, so the owner is gone and nobody comes in meanwhile, and in one step. With
// dry nothing is removed. It returns every root it looked at.
func GC(ctx context.Context, base string, dry bool, o *solehold.Options) ([]Listed, error) {
	base, err := checkBase(base)
	if err != nil {
		return nil, err
	}
	all, err := List(base)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for i := range all {
		all[i].collect(ctx, dir, dry, o)
	}
	if dry {
		return all, ctx.Err()
	}
	return all, errors.Join(ctx.Err(), sweep(ctx, dir, o))
}

func (l *Listed) collect(ctx context.Context, base *os.Root, dry bool, o *solehold.Options) {
	switch {
	case l.Kept != "":
		return
	case !l.Ephemeral:
		l.Kept = "it is to stay"
		return
	}
	if dry {
		l.Kept = wouldKeep(ctx, l.Path, o)
	} else if lock, err := solehold.Acquire(ctx, l.Path, o); err != nil {
		l.Kept = err.Error()
	} else {
		l.Kept = l.remove(lock, base)
	}
	l.Removed = l.Kept == ""
}

// wouldKeep only asks: a dry run makes no starter fail.
func wouldKeep(ctx context.Context, path string, o *solehold.Options) string {
	s, err := solehold.Inspect(ctx, path, o)
	switch {
	case err != nil:
		return err.Error()
	case s.State != solehold.Free:
		return string(s.State)
	}
	return ""
}

// remove takes the root out of the base while it is locked. What is in it is
// removed afterwards: nobody finds it any more.
func (l *Listed) remove(lock *solehold.Lock, base *os.Root) (kept string) {
	defer func() {
		if kept != "" {
			lock.Abandon() // nothing was done in it
		}
	}()
	folder := filepath.Base(l.Path)
	root, err := base.OpenRoot(folder)
	if err != nil {
		return err.Error()
	}
	defer root.Close()
	now, err := readMeta(root)
	switch {
	case err != nil:
		return err.Error()
	case now.UUID != l.UUID || !now.Ephemeral || !sameDir(root, lock.Dir()):
		return "it is another one by now"
	case lock.Orphan() != nil:
		return "what its owner left still works there: " + lock.Orphan().String()
	}
	if err := base.Rename(folder, goneName+rand.Text()); err != nil {
		return err.Error()
	}
	lock.Release() // its record went with the root
	return ""
}
