package drill_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// nursery starts a cradle in a place.
func nursery(t *testing.T, where string) (*drill.Nursery, string) {
	t.Helper()
	dir := t.TempDir()
	n, err := drill.NewNursery(os.Args[0], dir, where)
	must(t, err)
	t.Cleanup(n.Leave)
	return n, filepath.Join(dir, "log")
}

// words reads what a cradle says up to a word.
func words(n *drill.Nursery, last string) (all []string) {
	for !slices.Contains(all, last) && !slices.Contains(all, "") {
		what, trouble := n.Word()
		all = append(all, what+trouble)
	}
	return all
}

// TestOneLifeAfterTheOther has a cradle hear of ended children while nothing of a start lives, as the kernel may tell late:
// each start ends once, and the end of one is never told as that of the next.
func TestOneLifeAfterTheOther(t *testing.T) {
	t.Parallel()
	n, log := nursery(t, "{}")
	for life := range 3 {
		for range 5 {
			must(t, syscall.Kill(n.PID(), syscall.SIGCHLD))
		}
		must(t, n.Arm(log, "/bin/sh", "-c", "read x </dev/null; sleep 0.01 & sleep 0.02 & exit 0"))
		got := words(n, "armed")
		must(t, syscall.Kill(n.PID(), syscall.SIGCHLD))
		must(t, n.Open())
		got = append(got, words(n, "empty")...)
		if !slices.Equal(got, []string{"armed", "started", "exited", "empty"}) {
			t.Errorf("life %d: %q", life, got)
		}
	}
}

// TestDeafCradle sends what a terminal's keys would: it stays, for it has to clean up.
func TestDeafCradle(t *testing.T) {
	t.Parallel()
	n, log := nursery(t, "{}")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		must(t, syscall.Kill(n.PID(), sig))
	}
	must(t, n.Arm(log, "/bin/true"))
	if got := words(n, "armed"); !slices.Equal(got, []string{"armed"}) {
		t.Errorf("after the signals: %q", got)
	}
	must(t, n.Open())
	words(n, "empty")
}

// TestOccupy takes numbers for others while a command beside it takes one after the other.
func TestOccupy(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	n, log := nursery(t, `{"Boot": "cb3ee4cc-3ae7-4b25-a1a5-6f4e8fd0ed2b"}`)
	must(t, n.Arm(log, "/bin/sh", "-c", "while :; do /bin/true; done"))
	words(n, "armed")
	must(t, n.Open())
	words(n, "started")
	for _, pid := range []int{500, 1500, 9000, 400} {
		must(t, n.Order("occupy", pid))
		if what, trouble := n.Word(); what != "done" || trouble != "" {
			t.Errorf("pid %d: %s %s", pid, what, trouble)
		}
		if there := n.Threads(); !slices.Contains(there, pid) { // a thread of another keeps it as well as a process
			t.Errorf("nobody has pid %d: %d", pid, there)
		}
	}
	if there := n.Inner(); slices.Min(there) < 300 {
		t.Errorf("a command got a number as low as a thread of the cradle: %d", there)
	}
}

// TestSharedPlaceIsLeftAlone gives orders that would reach the whole machine to a cradle that stands where the test does, and
// to such that have another thing of their own.
func TestSharedPlaceIsLeftAlone(t *testing.T) {
	t.Parallel()
	before := devices(t)
	places := []string{"{}"}
	if os.Geteuid() == 0 {
		places = append(places, `{"Mounts": true}`, `{"Wire": true}`)
	}
	for _, where := range places {
		n, log := nursery(t, where)
		for _, do := range []string{"fill", "free", "readonly", "writable", "occupy", "engine", "plug", "cut", "heal", "address", "explode"} {
			switch {
			case strings.Contains(where, "Mounts") && slices.Contains([]string{"fill", "free", "readonly", "writable", "explode"}, do):
				continue
			case strings.Contains(where, "Wire") && do == "address":
				continue
			}
			must(t, n.Order(do, 1, "/bin/true"))
			if what, trouble := n.Word(); what != "done" || trouble != do+": this place is shared with the whole machine" {
				t.Errorf("%s in %s: %s %s", do, where, what, trouble)
			}
		}
		if entries, err := os.ReadDir(filepath.Dir(log)); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", where, entries, err)
		}
	}
	if after := devices(t); len(after) > len(before) {
		t.Errorf("devices here: %q", after)
	}
}

// TestBadOrders has what a cradle cannot do where it may: it says why, and goes on.
func TestBadOrders(t *testing.T) {
	testneed.Root(t)
	testneed.Program(t, "ip", "apt-get install iproute2")
	t.Parallel()
	for _, c := range []struct {
		where, do string
		argv      []string
		want      string
	}{
		{`{"Mounts": true}`, "free", nil, "no such file"},
		{`{"Mounts": true}`, "writable", nil, "umount: invalid argument"},
		{`{"Mounts": true}`, "explode", nil, `no order "explode"`},
		{`{"Switch": true}`, "cut", nil, `ip ["link" "set" "v4000000" "nomaster"]`},
		{`{"Switch": true}`, "plug", nil, `ip ["link" "add" "v4000000"`},
		{`{"Switch": true}`, "engine", []string{"/no/such/engine"}, "no such file"},
		{`{"Switch": true}`, "engine", []string{"/bin/sh", "-c", "echo no room >&2"}, "the engine does not come up: EOF: no room"},
		{`{"Wire": true}`, "address", nil, `ip ["addr" "add" "10.77.0.4000000/24"`},
	} {
		n, _ := nursery(t, c.where)
		must(t, n.Order(c.do, 4000000, c.argv...)) // no process and no host has this number
		if what, trouble := n.Word(); what != "done" || !strings.Contains(trouble, c.want) {
			t.Errorf("%s %q in %s: %s %s, want %q", c.do, c.argv, c.where, what, trouble, c.want)
		}
		must(t, n.Order("explode", 0))
		if what, trouble := n.Word(); what != "done" || trouble == "" {
			t.Errorf("after %s: %s %s", c.do, what, trouble)
		}
	}
}

// TestCannotBeBorn arms what cannot be started, and then what can.
func TestCannotBeBorn(t *testing.T) {
	t.Parallel()
	n, log := nursery(t, "{}")
	for _, c := range []struct{ log, program, want string }{
		{log, "/no/such/program", "failed/no/such/program: no such file or directory"},
		{log, notAProgram(t), "exec format error"},
		{"/no/such/folder/log", "/bin/true", "failedopen /no/such/folder/log: no such file or directory"},
	} {
		must(t, n.Arm(c.log, c.program))
		words(n, "armed")
		must(t, n.Open())
		if what, trouble := n.Word(); !strings.Contains(what+trouble, c.want) {
			t.Errorf("%s: %s %s", c.program, what, trouble)
		}
	}
	must(t, n.Arm(log, "/bin/true"))
	words(n, "armed")
	must(t, n.Open())
	if got := words(n, "empty"); !slices.Equal(got, []string{"started", "exited", "empty"}) {
		t.Errorf("then %q", got)
	}
}

// TestNoPlace has places that cannot be had, and command lines that no drill gives.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	if _, err := drill.NewNursery(os.Args[0], "/no/such/folder", "{}"); err == nil || !strings.Contains(err.Error(), "stat /no/such/folder") {
		t.Errorf("no folder: %v", err)
	}
	if _, err := drill.NewNursery("/no/such/cradle", t.TempDir(), "{}"); err == nil || !strings.Contains(err.Error(), "start /no/such/cradle") {
		t.Errorf("no cradle: %v", err)
	}
	if os.Geteuid() == 0 {
		if _, err := drill.NewNursery(os.Args[0], t.TempDir(), `{"Join": 4000000}`); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("the mounts of nobody: %v", err)
		}
	}
	for _, args := range [][]string{nil, {"{"}, {"{}", "{}"}} {
		cmd := exec.Command(os.Args[0], append([]string{drill.CradleVerb}, args...)...)
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%q: %v", args, err)
		}
	}
}
