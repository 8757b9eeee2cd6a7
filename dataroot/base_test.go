package dataroot_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/solehold/solehold/dataroot"
)

func TestBase(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "/var/lib/kb:/var/lib/other")
	if got, err := dataroot.Base(dataroot.State); runtime.GOOS != "windows" && (err != nil || got != "/var/lib/kb") {
		t.Errorf("below a unit: %q, %v", got, err)
	}
	t.Setenv("STATE_DIRECTORY", "relative")
	if got, err := dataroot.Base(dataroot.State); err == nil {
		t.Errorf("a relative base: %q", got)
	}
	t.Setenv("STATE_DIRECTORY", "")
	t.Setenv("CACHE_DIRECTORY", "")
	t.Setenv("XDG_STATE_HOME", "/home/kb/state")
	for _, kind := range []dataroot.Kind{dataroot.State, dataroot.Cache} {
		if got, err := dataroot.Base(kind); err != nil || !filepath.IsAbs(got) {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
	}
	if _, err := dataroot.Base("music"); err == nil {
		t.Error("an unknown kind has a base")
	}
}
