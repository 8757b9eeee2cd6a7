package lab_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/lab"
	"github.com/solehold/solehold/internal/testneed"
)

// onEngine runs do with the socket of a real engine, on the bench of an experiment.
func onEngine(t *testing.T, do func(sock string)) {
	t.Helper()
	testneed.Program(t, "redis-server", "apt-get install redis-server")
	r := lab.WithEngine(do).Run(context.Background())
	if r.Outcome != lab.AsDescribed {
		t.Fatalf("%s %s", r.Outcome, r.Error)
	}
}

// The careful client keeps to what is its own; the plain SET is the mistake that `redis-set` shows.
func TestLeases(t *testing.T) {
	t.Parallel()
	onEngine(t, func(sock string) {
		p := play(t)
		for _, c := range []struct {
			order, key, who string
			held            bool
		}{
			{"lease-compare", "k", "a", true}, // nobody has it: nothing to renew
			{"lease-take", "k", "a", false},
			{"lease-take", "k", "a", true}, // it has it, and does not get it twice
			{"lease-take", "k", "b", true},
			{"lease-compare", "k", "b", true},
			{"lease-compare", "k", "a", false},
			{"lease-set", "k", "b", false}, // the mistake
			{"lease-compare", "k", "a", true},
			{"lease-compare", "k", "b", false},
			{"lease-wait", "other", "b", false},
		} {
			if got := p.ask(c.order, sock, c.key, c.who, "600000"); (got.Errno == syscall.EAGAIN) != c.held || (got.Error != "") != c.held {
				t.Errorf("%s %s by %s: %+v", c.order, c.key, c.who, got)
			}
		}
	})
}

// Who waits gets the lease when it lapses, and not while it is renewed.
func TestLeaseLapses(t *testing.T) {
	t.Parallel()
	onEngine(t, func(sock string) {
		p, other := play(t), play(t)
		p.wants("", "lease-take", sock, "k", "a", "50")
		other.wants("", "lease-wait", sock, "k", "b", "600000")
		if got := p.ask("lease-compare", sock, "k", "a", "50"); got.Errno != syscall.EAGAIN {
			t.Errorf("the lease has lapsed: %+v", got)
		}
	})
}

// An engine that cannot be reached is another error than a lease that somebody has.
func TestEngineOutOfReach(t *testing.T) {
	t.Parallel()
	p, dir := play(t), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for path, errno := range map[string]syscall.Errno{"missing": syscall.ENOENT, "file": syscall.ECONNREFUSED} {
		for _, order := range []string{"lease-take", "lease-wait", "lease-set", "lease-compare"} {
			if got := p.ask(order, filepath.Join(dir, path), "k", "a", "1000"); got.Errno != errno || got.Held {
				t.Errorf("%s on %s: %+v", order, path, got)
			}
		}
	}
}

// The engine ends with the experiment, and its directory with it.
func TestEngineEnds(t *testing.T) {
	t.Parallel()
	var sock string
	onEngine(t, func(s string) { sock = s })
	if _, err := os.Stat(filepath.Dir(sock)); sock == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", sock, err)
	}
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), filepath.Dir(sock)) {
			t.Errorf("process %s is left: %q", e.Name(), line)
		}
	}
}

// What an experiment needs is looked for before it runs, and named each time that it is not there.
func TestNeedsAreNamed(t *testing.T) {
	t.Parallel()
	bare := func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), "PATH=/no/such") }
	for name, want := range map[string]string{
		"lockfile-key": "systemd-analyze; get it: apt-get install systemd",
		"redis-set":    "redis-server; get it: apt-get install redis-server",
		"fallback":     "redis-server; get it: apt-get install redis-server",
	} {
		got := call(t, bare, name)
		if got.code != 2 || !strings.Contains(got.stdout, "(not run: needs "+want+")") {
			t.Errorf("%s: code %d\n%s", name, got.code, got.stdout)
		}
	}
	got := call(t, bare, "eagain") // what is only a figure is not needed
	if got.code != 0 || !strings.Contains(got.stdout, "flock -n: not installed here") {
		t.Errorf("code %d\n%s", got.code, got.stdout)
	}
}

// Texts of programs and of the kernel reach a terminal as one harmless line.
func TestErrorsAreHarmless(t *testing.T) {
	t.Parallel()
	r := lab.Experiment{Name: "n"}.Judge(nil, "", "first\nsecond \x1b[2J\a third")
	if strings.ContainsAny(r.Error, "\n\x1b\a") || !strings.HasPrefix(r.Error, "first second ") {
		t.Errorf("%q", r.Error)
	}
}
