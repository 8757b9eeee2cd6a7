package dataroot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/solehold/solehold"
)

// PlaceError says what is odd about the place of a root. It is a warning, given to
// Lock.OnWarning, unless Lock.Strict makes it a refusal.
type PlaceError struct {
	// Path is that of the root.
	Path string
	// Why is the reason in words.
	Why string
}

// Error names both.
func (e *PlaceError) Error() string { return e.Path + ": " + e.Why }

// odd tells what is odd about the place, or refuses it.
func (p opening) odd(ctx context.Context) error {
	for _, why := range []string{cleaned(p.base), p.nested(ctx)} {
		if why == "" {
			continue
		}
		err := &PlaceError{p.path, why}
		if p.o.Lock.Strict {
			return err
		}
		if p.o.Lock.OnWarning != nil {
			p.o.Lock.OnWarning(err)
		}
	}
	return nil
}

// cleaned says that a base lies where systems remove what looks old.
func cleaned(base string) string {
	for _, dir := range []string{"/tmp", "/var/tmp", os.TempDir()} {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if below(dir, base) {
			return "it lies below " + dir + ", where systems remove what looks old, also while it is in use"
		}
	}
	return ""
}

func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// nested says that the base lies inside a data directory that has an owner of its
// own: whoever removes or restores that one takes this root along.
func (p opening) nested(ctx context.Context) string {
	for dir := p.base; ; dir = filepath.Dir(dir) {
		if taken(dir) {
			why := "it lies inside " + dir + ", which is a data directory itself"
			if s, err := solehold.Inspect(ctx, dir, nil); err == nil && s.Owner != nil {
				why += "; that has its owner: " + s.Owner.String()
			}
			return why
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// taken reports whether a directory is a root or was ever locked.
func taken(dir string) bool {
	for _, name := range []string{".solehold", metaName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
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
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	for dir := filepath.Dir(abs); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && open(st) && st.Mode()&fs.ModeSticky == 0 {
			return "", &BaseError{abs, "every user may write to " + dir + ", and so put something else into its place"}
		}
	}
	return abs, nil
}
