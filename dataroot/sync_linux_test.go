package dataroot

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// The directories of /proc cannot be synced: that is no error. One that is missing is.
func TestNoSyncOfDirectories(t *testing.T) {
	root, err := os.OpenRoot("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f, err := root.Open("fd")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Sync() == nil {
		t.Fatal("/proc syncs: this test shows nothing")
	}
	s := &Space{root: root}
	if err := s.sync("fd"); err != nil {
		t.Error(err)
	}
	if err := s.sync("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
