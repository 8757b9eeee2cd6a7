package dataroot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/solehold/solehold"
)

// sweep removes what is out of the base, also of a GC that was killed, and what a
// birth left that was.
func sweep(ctx context.Context, base *os.Root, o *solehold.Options) error {
	entries, err := fs.ReadDir(base.FS(), ".")
	for _, e := range entries {
		switch name := e.Name(); {
		case !e.IsDir():
		case made(name, goneName):
			err = errors.Join(err, gone(sweepGone(ctx, base, name, o)))
		case made(name, bornName):
			err = errors.Join(err, gone(sweepBorn(base, name)))
		}
	}
	return err
}

// made reports whether a name is one that we make: the name of somebody else's
// directory may begin like it.
func made(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && len(rest) == 26 && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// sweepGone removes a root that GC took out of the base. Its description goes last,
// so that a sweep that is killed is gone on with.
func sweepGone(ctx context.Context, base *os.Root, name string, o *solehold.Options) error {
	root, err := base.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	m, err := readMeta(root)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(late(ctx, base, root, o), base.Remove(name)) // unless there is something in it
	}
	if err != nil || !m.Ephemeral || wouldKeep(ctx, filepath.Join(base.Name(), name), o) != "" {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if e.Name() != metaName {
			err = errors.Join(err, root.RemoveAll(e.Name()))
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(gone(root.Remove(metaName)), gone(base.Remove(name)))
}

// late removes what a starter left that had opened the root just before GC took it:
// it made our folder anew, saw that the path leads elsewhere, and let go.
func late(ctx context.Context, base, root *os.Root, o *solehold.Options) error {
	if !unused(root) || wouldKeep(ctx, filepath.Join(base.Name(), filepath.Base(root.Name())), o) != "" {
		return nil
	}
	return root.RemoveAll(".solehold")
}

// sweepBorn removes what a birth left whose maker is dead: its lock is free.
func sweepBorn(base *os.Root, name string) error {
	cradle, err := base.OpenRoot(name)
	if err != nil {
		return err
	}
	defer cradle.Close()
	dead, err := claim(cradle)
	if dead == nil {
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		return err
	}
	defer dead.Close()
	if here, err := base.Lstat(name); err != nil || !sameAs(cradle, here) {
		return err // it has become a root in this moment
	}
	return empty(base, name, cradle)
}

func sameAs(root *os.Root, st fs.FileInfo) bool {
	in, err := root.Stat(".")
	return err == nil && os.SameFile(in, st)
}
