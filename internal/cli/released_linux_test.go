package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/testneed"
)

// releaseEnds reaches each code that the help of release promises.
func releaseEnds() map[int]reached {
	return map[int]reached{
		0:  func(t *testing.T) int { return ask("release", dataDir(t)).code },
		64: func(*testing.T) int { return ask("release").code },
		73: func(t *testing.T) int { return ask("release", filepath.Join(dataDir(t), "missing")).code },
		74: func(t *testing.T) int {
			needFilter(t)
			return program(t, "failing", "ENOLCK", "get", "solehold", "release", dataDir(t)).code
		},
		75: func(t *testing.T) int {
			dir := dataDir(t)
			stopped(t, dir)
			return program(t, "solehold", "release", "--timeout", "50ms", dir).code
		},
		76: func(t *testing.T) int {
			dir := dataDir(t)
			stopped(t, dir)
			return program(t, "apart", "solehold", "release", "--force", "--timeout", "50ms", dir).code
		},
		77: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Chmod(dir, 0))
			return program(t, "nobody", "solehold", "release", dir).code
		},
		78: func(t *testing.T) int {
			dir := dataDir(t)
			return program(t, "solehold", "run", dir, "--", "solehold", "release", dir).code
		},
	}
}

// stopped has an owner that follows no request.
func stopped(t *testing.T, dir string) {
	t.Helper()
	must(t, hold(t, dir, "sleep", "300").Process.Signal(syscall.SIGSTOP))
}

// showEnds reaches each code that the help of incident show promises, and packEnds
// and listEnds do so for theirs.
func showEnds() map[int]reached { return incidentEnds("show") }

func packEnds() map[int]reached {
	ends := incidentEnds("pack", "-o", "-")
	ends[73] = func(t *testing.T) int {
		dir := dataDir(t)
		saved(t, dir)
		return ask("incident", "pack", dir, "-o", dir).code // it exists
	}
	return ends
}

func listEnds() map[int]reached {
	ends := incidentEnds("list")
	delete(ends, 66)
	return ends
}

func incidentEnds(verb string, flags ...string) map[int]reached {
	args := func(dir string, more ...string) []string {
		return append(append([]string{"incident", verb, dir}, flags...), more...)
	}
	return map[int]reached{
		0: func(t *testing.T) int {
			dir := dataDir(t)
			saved(t, dir)
			return ask(args(dir)...).code
		},
		64: func(*testing.T) int { return ask("incident", verb).code },
		66: func(t *testing.T) int { return ask(args(dataDir(t))...).code },
		73: func(t *testing.T) int { return ask(args(dataDir(t) + "/missing")...).code },
		74: func(t *testing.T) int {
			needFuse(t)
			dir := dataDir(t)
			return program(t, "hung", append([]string{dir, "solehold"}, args(dir, "--timeout", "100ms")...)...).code
		},
		77: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Chmod(dir, 0))
			return program(t, "nobody", append([]string{"solehold"}, args(dir)...)...).code
		},
		78: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Mkdir(filepath.Join(dir, ".solehold"), 0o700))
			must(t, os.Symlink(dir, filepath.Join(dir, ".solehold", evidence.Folder)))
			return ask(args(dir)...).code
		},
	}
}

// saved takes an incident of this very process.
func saved(t *testing.T, dir string) evidence.Incident {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(dir, ".solehold"), 0o700))
	state, err := os.OpenRoot(filepath.Join(dir, ".solehold"))
	must(t, err)
	defer state.Close()
	in, err := evidence.Take(t.Context(), state, evidence.Request{Subject: dir, Reason: "a test", PIDs: []int{os.Getpid()}})
	must(t, err)
	return in
}

// A terminal gets no archive.
func TestPackToTerminal(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	saved(t, dir)
	script := testneed.Program(t, "script", "apt-get install bsdutils")
	r := program(t, script, "-qec", "solehold incident pack "+dir+" -o -", "/dev/null")
	if r.code != 64 || !strings.Contains(r.stdout, "nothing for a terminal") {
		t.Errorf("code %d: %s", r.code, r.stdout)
	}
}

// Whoever starts a service, and whoever asks it to go, chooses texts that others
// will read.
func TestHostileIncident(t *testing.T) {
	t.Parallel()
	name := strings.NewReplacer("\x00", "", "\x7f", "").Replace(hostile)
	dir := filepath.Join(dataDir(t), name)
	must(t, os.Mkdir(dir, 0o755))
	hold(t, dir, "sh", "-c", "exec 5>>\"$0\"; trap '' TERM; flock 5; flock -o \"$0\" true", dir+"/"+strings.ReplaceAll(name, "/", "_"))
	r := program(t, "solehold", "release", "--timeout", "300ms", "--force", "--reason", name, dir)
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	wantHarmless(t, "release", r.stdout)
	wantHarmless(t, "release", r.stderr)
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"show"}, {"show", "--json"}, {"show", "--file", "processes.txt"}, {"show", "--file", "descriptors.txt"}} {
		r := ask(append(append([]string{"incident"}, args...), dir)...)
		wantHarmless(t, strings.Join(args, " "), r.stdout+r.stderr)
	}
	everyView(t, dir)
}

// What `release` and `incident` tell programs.
func TestReleaseJSON(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir, "sleep", "300")
	r := program(t, "solehold", "release", "--json", dir)
	m := object(t, r.stdout)
	fields(t, m, map[string]any{"dir": "", "state": "", "owner": map[string]any{}, "asked": true, "waited": 0.0, "exit": 0.0})
	equal(t, m, map[string]any{"dir": dir, "state": "FREE", "asked": true, "exit": 0.0, "stopped": nil})
	saved(t, dir)
	r = program(t, "solehold", "incident", "list", "--json", dir)
	fields(t, object(t, r.stdout), map[string]any{"id": "", "reason": "", "finding": "", "took": 0.0, "pids": []any{}, "missing": []any{}})
}
