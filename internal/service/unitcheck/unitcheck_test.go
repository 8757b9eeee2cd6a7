package unitcheck_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/service/unitcheck"
)

// check writes a unit and lists the ids that are found in it.
func check(t *testing.T, name, text string) []unitcheck.Finding {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	put(t, path, text)
	found, err := unitcheck.Check(path)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func ids(found []unitcheck.Finding) string {
	var all []string
	for _, f := range found {
		all = append(all, f.ID)
	}
	return strings.Join(all, " ")
}

// Each mistake is found, and what looks like it and is right is not.
func TestFindings(t *testing.T) {
	for _, c := range []struct{ want, unit string }{
		{"", "[Service]\nExecStart=/usr/bin/kb\n"},
		{"", "[Service]\nKillMode=mixed\nExecStart=solehold run --held-exit=75 /srv/kb -- kb\nRestart=always\nRestartPreventExitStatus=75 77\n"},
		{"SU001", "[Service]\nKillMode=process\n"},
		{"SU001", "[Service]\nKillMode = None\n"},
		{"", "[Service]\nKillMode=process\nKillMode=\n"},
		{"", "[Service]\nKillMode=process\nKillMode=mixed\n"},
		{"", "[Service]\n#KillMode=process\n;KillMode=none\n"},
		{"SU002", "[Service]\nType=forking\n"},
		{"", "[Service]\nType=forking\nPIDFile=/run/kb.pid\n"},
		{"SU002", "[Service]\nType=forking\nPIDFile=/run/kb.pid\nPIDFile=\n"},

		{"SU003", "[Service]\nRestart=always\nExecStart=/usr/bin/solehold run /srv/kb -- kb\n"},
		{"", "[Service]\nRestart=on-failure\nExecStart=/usr/bin/solehold run /srv/kb -- kb\n"},
		{"SU003", "[Service]\nType=notify\nRestart=on-failure\nExecStart=/usr/bin/solehold run /srv/kb -- kb\n"},
		{"SU003", "[Service]\nRestart=on-failure\nExecStart=/usr/bin/solehold run --held-exit 75 /srv/kb -- kb\n"},
		{"", "[Service]\nRestart=on-failure\nRestartPreventExitStatus=75\nExecStart=/usr/bin/solehold run --held-exit 75 /srv/kb -- kb\n"},
		{"SU003", "[Service]\nRestart=on-failure\nRestartPreventExitStatus=75\nRestartPreventExitStatus=\nExecStart=/usr/bin/solehold run --held-exit 75 /srv/kb -- kb\n"},
		{"", "[Service]\nRestart=always\nExecStart=/usr/bin/solehold run --wait forever /srv/kb -- kb\n"},
		{"SU003", "[Service]\nRestart=always\nExecStart=/usr/bin/solehold run /srv/kb -- kb --wait 3\n"},
		{"SU003", "[Service]\nRestart=on-failure\nExecStart=-/usr/bin/flock -n /run/kb.lock kb\n"},
		{"SU003", "[Service]\nRestart=on-failure\nExecStart=flock -xn /run/kb.lock kb\n"},
		{"", "[Service]\nRestart=on-failure\nExecStart=flock /run/kb.lock kb -n\n"},
		{"", "[Service]\nRestart=on-failure\nRestartPreventExitStatus=9\nExecStart=flock -n -E 9 /run/kb.lock kb\n"},
		{"", "[Service]\nRestart=on-failure\nRestartPreventExitStatus=9\nExecStart=flock -n --conflict-exit-code=9 /run/kb.lock kb\n"},
		{"SU003", "[Service]\nRestart=on-failure\nExecStart=flock -E 9 -n /run/kb.lock kb\n"},
		{"", "[Service]\nRestart=on-abort\nExecStart=flock -n /run/kb.lock kb\n"},
		{"", "[Service]\nRestart=on-failure\nSuccessExitStatus=75\nExecStart=solehold run --held-exit 75 /srv/kb -- kb\n"},
		{"SU003", "[Service]\nRestart=on-success\nSuccessExitStatus=75\nExecStart=solehold run --held-exit 75 /srv/kb -- kb\n"},
		{"SU003", "[Service]\nType=notify\nRestart=on-failure\nSuccessExitStatus=75\nExecStart=solehold run --held-exit 75 /srv/kb -- kb\n"},

		{"SU004", "[Service]\nLockFile=/run/kb.lock\n"},
		{"SU004", "[Unit]\nSingleInstance=yes\n"},
		{"SU004 SU004", "[Service]\nPidFile=/run/kb.pid\nKillmode=mixed\n"},
		{"SU005", "[Service]\nPrivateTmp=yes\nExecStart=solehold run /tmp/kb -- kb\n"},
		{"SU005", "[Service]\nDynamicUser=1\nExecStart=kb --lock=/var/tmp/kb.lock\n"},
		{"", "[Service]\nPrivateTmp=no\nExecStart=solehold run /tmp/kb -- kb\n"},
		{"", "[Service]\nPrivateTmp=yes\nExecStart=/tmp/bin/solehold run /srv/tmp/kb -- kb\n"},
		{"", "[Service]\nPrivateTmp=yes\nExecStart=kb --scratch /tmp\n"},
		{"SU006", "[Service]\nExecStartPre=flock -n /run/kb.lock true\n"},
		{"SU006", "[Service]\nExecStartPre=!!/usr/bin/solehold run /srv/kb -- true\n"},
		{"", "[Service]\nExecCondition=/usr/bin/solehold status --free /srv/kb\n"},
		{"SU007", "[Service]\nSendSIGKILL=no\n"},
		{"SU008", "[Unit]\nConditionPathExists=!/run/kb.pid\n"},
		{"SU008", "[Unit]\nAssertPathExists=|!/var/lock/kb\n[Service]\nExecStart=kb\n"},
		{"", "[Unit]\nConditionPathExists=!/etc/kb.disabled\n"},
		{"", "[Unit]\nConditionPathExists=/run/kb.pid\n"},
		{"SU009", "[Service]\nStartLimitIntervalSec=9\n"},
		{"", "[Unit]\nStartLimitIntervalSec=9\n[Service]\nStartLimitInterval=9\n"},
		{"SU010", "[Service]\nExecStart=/bin/sh -c 'kb --serve &'\n"},
		{"SU010", "[Service]\nExecStart=/usr/bin/nohup kb\n"},
		{"", "[Service]\nExecStart=/bin/sh -c 'kb >&2 && true'\n"},
		{"", "[Service]\nType=forking\nPIDFile=/run/kb.pid\nExecStart=/usr/sbin/start-stop-daemon --start\n"},
		{"SU011", "[Service]\nTimeoutStopSec=10\nExecStart=solehold run /srv/kb -- kb\n"},
		{"SU011", "[Service]\nTimeoutStopSec=1min\nExecStart=solehold run --grace=2m /srv/kb -- kb\n"},
		{"SU011", "[Service]\nTimeoutSec=5s\nExecStart=solehold run /srv/kb -- kb --grace=1s\n"},
		{"", "[Service]\nTimeoutStopSec=10\nExecStart=solehold run --grace 5 /srv/kb -- kb\n"},
		{"", "[Service]\nTimeoutStopSec=infinity\nExecStart=solehold run /srv/kb -- kb\n"},
		{"", "[Service]\nTimeoutStopSec=5\nExecStart=solehold run --exec /srv/kb -- kb\n"},
		{"SU011", "[Service]\nExecStart=solehold run --grace 90s /srv/kb -- kb\n"}, // 90 s is what systemd waits by itself
		{"", "[Service]\nExecStart=solehold run --grace 80s /srv/kb -- kb\n"},
		{"SU012", "[Service]\nType=oneshot\nExecStart=solehold watch --once /srv/kb --health-tcp :1 -- kb\n"},
		{"", "[Service]\nType=oneshot\nExecStart=solehold watch --once --unit=kb.service /srv/kb --health-tcp :1\n"},
		{"SU013", "[Service]\nKillSignal=SIGKILL\n"},
		{"SU014", "[Service]\nExecStop=/usr/bin/pkill kb\n"},
		{"SU014", "[Service]\nExecStartPre=-/bin/sh -c 'killall -9 kb'\n"},
		{"", "[Service]\nExecStop=/usr/bin/kb-pkiller\n"},
		// Two backslashes are one of the value, and the line ends there.
		{"SU001", "[Service]\nEnvironment=D=x\\\\\nKillMode=process\n"},
		// Worst first, and a line that goes on over a comment.
		{"SU003 SU001", "[Service]\nKillMode=process\nRestart=always\nExecStart=/usr/bin/solehold \\\n# why\n  run /srv/kb \\\n  -- kb\n"},
	} {
		if got := ids(check(t, "kb.service", c.unit)); got != c.want {
			t.Errorf("%q\nfound %q, want %q", c.unit, got, c.want)
		}
	}
}

// A template is one data directory for each instance, or one instance at all.
func TestTemplate(t *testing.T) {
	for line, want := range map[string]string{
		"solehold run /srv/kb -- kb %i":    "SU015",
		"solehold run /srv/kb/%i -- kb":    "",
		"solehold run /srv/kb/%%i -- kb":   "SU015", // a directory of this name
		"solehold run --name=%n /d -- kb":  "",
		"/usr/bin/kb --data /srv/kb":       "",
		"solehold status --free /srv/kb":   "",
		"@/usr/bin/solehold me run /d -- ": "SU015",
		"@/usr/bin/solehold run status /d": "",
		"\"/usr/bin/solehold\" run /d -- ": "SU015",
	} {
		if got := ids(check(t, "kb@.service", "[Service]\nExecStart="+line+"\n")); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		if got := ids(check(t, "kb@one.service", "[Service]\nExecStart="+line+"\n")); got != "" {
			t.Errorf("an instance, %s: %q", line, got)
		}
	}
}

// Settings of NAME.d count as systemd counts them, and are shown where they are.
func TestDropIns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k[b].service")
	put(t, path, "[Service]\nKillMode=process\nExecStart=kb\n")
	put(t, path+".d/10.conf", "[Service]\nKillMode=mixed\n")
	if found, err := unitcheck.Check(path); err != nil || len(found) != 0 {
		t.Errorf("%v %v", found, err)
	}
	put(t, path+".d/20.conf", "# only this\n[Service]\n\nKillMode=none\n")
	found, err := unitcheck.Check(path)
	if err != nil || len(found) != 1 || found[0].Path != path+".d/20.conf" || found[0].Line != 4 || found[0].Seen != "KillMode=none" {
		t.Errorf("%+v %v", found, err)
	}
	put(t, path+".d/30.conf", "no unit\n")
	if _, err := unitcheck.Check(path); err == nil || !strings.Contains(err.Error(), "30.conf:1: ") {
		t.Errorf("%v", err)
	}
}

// What is no unit says so, with the place.
func TestNoUnit(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                                 "no unit file",
		"\x7fELF\x02\x01":                  ":1: ",
		"<?xml version=\"1.0\"?>\n":        ":1: ",
		"KillMode=process\n":               ":1: ",
		"[Service]\nKillMode=none\nmore\n": ":3: ",
		"# nothing\n":                      "no unit file",
	} {
		path := filepath.Join(dir, "x.service")
		put(t, path, text)
		if _, err := unitcheck.Check(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	var file *fs.PathError
	large := filepath.Join(dir, "large")
	put(t, large, "[Service]\n"+strings.Repeat("#\n", 1<<20)+"KillMode=none\n")
	for _, path := range []string{filepath.Join(dir, "missing"), dir, large, os.DevNull} {
		if _, err := unitcheck.Check(path); !errors.As(err, &file) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Each id is found once in docs/units.md, in order, and each has its test above.
func TestIDs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/units.md")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("unitcheck_test.go")
	if err != nil {
		t.Fatal(err)
	}
	all := unitcheck.IDs()
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("%v", all)
	}
	for _, id := range all {
		if strings.Count(string(page), "| "+id+" |") != 1 {
			t.Errorf("%s is not in docs/units.md", id)
		}
		if !strings.Contains(string(self), `"`+id+`"`) {
			t.Errorf("%s has no test", id)
		}
	}
	if n := strings.Count(string(page), "\n| SU"); n != len(all) {
		t.Errorf("docs/units.md has %d rows for %d ids", n, len(all))
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("[Service]\nExecStart=\"a\\\nb' $x\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "x@.service")
		put(t, path, text)
		found, err := unitcheck.Check(path)
		if err != nil && len(found) > 0 {
			t.Error("findings and an error")
		}
	})
}
