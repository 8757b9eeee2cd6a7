package dataroot

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// What is known and differs is another disk; what is not known is no difference.
func TestSameDevice(t *testing.T) {
	t.Parallel()
	full := Device{Type: "ext4", Source: "/dev/sda1", ID: "1"}
	for name, c := range map[string]struct {
		other Device
		same  bool
	}{
		"itself":           {full, true},
		"renamed disk":     {Device{"ext4", "/dev/sdb1", "1"}, true},
		"another id":       {Device{"ext4", "/dev/sda1", "2"}, false},
		"nothing known":    {Device{}, true},
		"no id":            {Device{"ext4", "/dev/sda1", ""}, true},
		"another source":   {Device{"ext4", "/dev/sdb1", ""}, false},
		"another type":     {Device{"xfs", "/dev/sda1", ""}, false},
		"unknown source":   {Device{"ext4", "", ""}, true},
		"only an id":       {Device{"", "", "1"}, true},
		"only another id":  {Device{"", "", "3"}, false},
		"memory, not disk": {Device{"tmpfs", "tmpfs", ""}, false},
	} {
		if full.same(c.other) != c.same || c.other.same(full) != c.same {
			t.Errorf("%s: %t expected", name, c.same)
		}
	}
}

func TestInstanceOf(t *testing.T) {
	t.Parallel()
	for cgroups, want := range map[string]string{
		"":                                       "",
		"0::/\n":                                 "",
		"0::/system.slice/kb.service\n":          "",
		"0::/system.slice/kb@2.service\n":        "2",
		"0::/system.slice/kb@blue.service/sub\n": "blue",
		"0::/system.slice/kb@Blue.service\n":     "",
		"0::/system.slice/kb@..service\n":        "",
		"0::/kb@2.slice/other.service\n":         "",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/kb.service\n":        "",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/kb@2.service\n":      "2",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n": "",
		"0::/user.slice/user-1000.slice/session-3.scope\n":                               "",
		"0::/system.slice/kb@2.service/payload.scope\n":                                  "",
		"1:cpu:/\n0::/a.slice/kb@3.service\n":                                            "3",
	} {
		if got := instanceOf(cgroups); got != want {
			t.Errorf("%q: %q, want %q", cgroups, got, want)
		}
	}
}

// The bases of other systems, from their variables.
func TestOtherBases(t *testing.T) {
	t.Setenv("HOME", "/Users/kb")
	for _, kind := range []Kind{State, Cache, Runtime} {
		if got, err := macBase(kind); err != nil || !strings.Contains(got, "/Library/") {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
	}
	t.Setenv("ProgramData", "")
	t.Setenv("LOCALAPPDATA", "")
	for _, kind := range []Kind{State, Cache} {
		if got, err := windowsBase(kind); err == nil {
			t.Errorf("%s without its variable: %q", kind, got)
		}
	}
	t.Setenv("ProgramData", "relative")
	if got, err := windowsBase(State); err == nil {
		t.Errorf("relative: %q", got)
	}
}

// Without a home there is no place for notes: the error names the choices, and the
// working directory does not stand in for it.
func TestNoPlaceForNotes(t *testing.T) {
	t.Chdir(t.TempDir())
	note, err := json.Marshal(pin{"/srv/kb", Device{Type: "ext4", ID: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile((pins{}).file("/srv/kb"), note, 0o600); err != nil {
		t.Fatal(err)
	}
	if was, err := (pins{}).read("/srv/kb"); !errors.Is(err, errNoPins) {
		t.Errorf("%v, %v", was, err)
	}
}

// Only names that we make are ours to remove.
func TestMade(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		".gone-ABCDEFGHIJKLMNOPQRSTUVWXYZ": true, ".gone-ABCDEFGHIJKLMNOPQRSTUVWXY": false, ".gone-abcdefghijklmnopqrstuvwxyz": false,
		".gone-": false, ".gone-ABCDEFGHIJKLMNOPQRSTUVWXY1": false, "gone-ABCDEFGHIJKLMNOPQRSTUVWXYZ": false, "": false,
	} {
		if made(name, goneName) != want {
			t.Errorf("%q: %t expected", name, want)
		}
	}
}
