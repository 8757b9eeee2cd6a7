package datadir_test

import (
	"errors"
	"os"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
)

// Here tells whether the path of the state directory still leads to it.
func TestHere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		act  func(string) error
		want error
	}{
		"nothing":      {func(string) error { return nil }, nil},
		"file in it":   {func(path string) error { return os.WriteFile(path+"/x", nil, 0o600) }, nil},
		"removed":      {os.RemoveAll, datadir.ErrMoved},
		"renamed":      {func(path string) error { return os.Rename(path, path+"2") }, datadir.ErrMoved},
		"replaced":     {func(path string) error { return errors.Join(os.Rename(path, path+"2"), os.Mkdir(path, 0o700)) }, datadir.ErrMoved},
		"by a file":    {func(path string) error { return errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o600)) }, datadir.ErrMoved},
		"by a symlink": {func(path string) error { return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)) }, datadir.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := fresh(t)
			must(t, test.act(s.Path()))
			if err := s.Here(); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// A state directory elsewhere may be reached through a symlink, and is there while
// that leads to it.
func TestHereElsewhere(t *testing.T) {
	t.Parallel()
	s, dir := fresh(t)
	must(t, s.Here())
	d, err := datadir.Open(dir)
	must(t, err)
	defer d.Close()
	top := t.TempDir()
	must(t, os.Mkdir(top+"/real", 0o700))
	must(t, os.Symlink("real", top+"/link"))
	away, err := d.OpenStateAt(top + "/link")
	must(t, err)
	defer away.Close()
	must(t, away.Here())
	key, err := away.Key()
	must(t, err)
	if want, err := datadir.KeyOf(top + "/real"); err != nil || key != want {
		t.Errorf("key %s, want %s, %v", key, want, err)
	}
	must(t, os.Remove(top+"/link"))
	if err := away.Here(); !errors.Is(err, datadir.ErrMoved) {
		t.Errorf("got %v", err)
	}
}
