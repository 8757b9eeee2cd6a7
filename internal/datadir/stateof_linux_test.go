package datadir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/testneed"
)

// stateDir makes a state directory by hand.
func stateDir(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, datadir.StateName)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// The state directory is found inside, and closing it closes all.
func TestStateOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stateDir(t, dir)
	s, err := datadir.StateOf(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.OpenWrite("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, datadir.StateName, "x")); err != nil {
		t.Error(err)
	}
	if _, err := s.OpenRead("x"); err == nil {
		t.Error("a closed one opens files")
	}
}

// Nothing of ours, and no data directory, are different errors.
func TestStateOfNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := datadir.StateOf(dir, ""); !errors.Is(err, datadir.ErrNoState) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no state directory: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("looking has made %v", entries)
	}
	missing := filepath.Join(dir, "missing")
	if _, err := datadir.StateOf(missing, ""); errors.Is(err, datadir.ErrNoState) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no data directory: %v", err)
	}
	if _, err := datadir.StateOf(dir, missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such state directory: %v", err)
	}
	if _, err := datadir.StateOf("", ""); err == nil {
		t.Error("an empty path")
	}
}

// A state directory that lies elsewhere is found by its path, and by what the data
// directory remembers.
func TestStateOfElsewhere(t *testing.T) {
	t.Parallel()
	dir, away := t.TempDir(), t.TempDir()
	d, err := datadir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s, err := d.OpenStateAt(away)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Pair(true); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"by its path": away, "as remembered": ""} {
		found, err := datadir.StateOf(dir, path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if found.Path() != away {
			t.Errorf("%s: %s, not %s", name, found.Path(), away)
		}
		found.Close()
	}
}

// What a stranger planted is refused, not used.
func TestStateOfPlanted(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"a link":          func(path string) error { return os.Symlink("/tmp", path) },
		"a file":          func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a stranger's":    func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 65534, 65534)) },
		"anybody's":       func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) },
		"anybody's, tidy": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o1777)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := plant(filepath.Join(dir, datadir.StateName)); err != nil {
				t.Fatal(err)
			}
			var refused *datadir.RefusedError
			if s, err := datadir.StateOf(dir, ""); !errors.As(err, &refused) {
				t.Errorf("%v, %v", s, err)
			}
		})
	}
}
