package solehold_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
)

const (
	hang    = 3 * time.Second        // how long the file system hangs
	timeout = 300 * time.Millisecond // how long we wait for it
	slack   = 1500 * time.Millisecond
)

// hanging starts an agent for which a system call on the path hangs from its
// first-th time on.
func hanging(t *testing.T, call, path, first string) *agent {
	t.Helper()
	strace := testneed.Program(t, "strace", "apt-get install strace")
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(strace, "-f", "-qq", "--seccomp-bpf", "-o", os.DevNull, "-P", path, "-e", "trace="+call,
		"-e", "inject="+call+":delay_enter=3000000:when="+first+"+", self)
	cmd.Env = append(os.Environ(), partVar+"=agent")
	return run(t, cmd)
}

func wantUnanswered(t *testing.T, a answer) {
	t.Helper()
	if a.Reason != solehold.Unanswered || a.Code != 74 {
		t.Errorf("want unanswered, got %+v", a)
	}
	wantSoon(t, a)
}

func wantSoon(t *testing.T, a answer) {
	t.Helper()
	if a.Took > timeout+slack {
		t.Errorf("answered after %v", a.Took)
	}
}

// Whatever call hangs in the file system, the answer comes in time, and what is
// acquired too late is given back (case C22).
func TestG5BoundedAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call string
		on   func(string) string
	}{
		{"fcntl", lockFile},
		{"openat", func(dir string) string { return dir }},
		{"pwrite64", lockFile},
		{"fdatasync", lockFile},
	} {
		t.Run(c.call, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			once(t, dir)
			a := hanging(t, c.call, c.on(dir), "1")
			o := order{Do: "acquire", Dir: dir, With: with{Timeout: timeout}}
			wantUnanswered(t, a.do(t, o))
			wantUnanswered(t, a.do(t, o)) // a second call of the same process as well
			testneed.Until(t, "the late lock is given back", func() bool {
				s := state(t, dir)
				return s.State == solehold.Free && s.Token > 1 && s.Record.Class == "released"
			})
		})
	}
}

func TestG5BoundedInspect(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir)
	a := hanging(t, "fcntl", lockFile(dir), "1")
	got := a.must(t, order{Do: "inspect", Dir: dir, With: with{Timeout: timeout}})
	wantSoon(t, got)
	if got.Status.State != solehold.NotKnown || len(got.Warnings) != 1 {
		t.Errorf("status %+v, %v", got.Status, got.Warnings)
	}
}

// A waiter is bounded by its timeout where the file system hangs, and by its
// patience where it does not.
func TestG5BoundedWait(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	hold(t, dir)
	a := hanging(t, "fcntl", lockFile(dir), "2") // after the first, refused try
	wantUnanswered(t, a.do(t, order{Do: "acquire", Dir: dir, With: with{Timeout: timeout, Wait: solehold.WaitForever}}))
}

// Release returns in time, also while the self-check of the lock hangs.
func TestG5BoundedRelease(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	a := hanging(t, "newfstatat", dir, "2") // the first belongs to the start
	// Long enough for a start under strace on a loaded machine, and for two of it
	// to pass while one call hangs.
	a.must(t, order{Do: "acquire", Dir: dir, With: with{Timeout: time.Second}})
	got := a.do(t, order{Do: "slow"})
	wantSoon(t, got)
	if got.Reason != solehold.Unanswered {
		t.Errorf("release: %+v", got)
	}
}

// inspector starts a process that inspects dir without a pause. The function
// ends it and returns how often it saw each state.
func inspector(t *testing.T, dir string) func() map[solehold.State]int {
	t.Helper()
	cmd := partOf("inspector", dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return func() map[solehold.State]int {
		must(t, in.Close())
		seen := map[solehold.State]int{}
		if err := json.NewDecoder(out).Decode(&seen); err != io.EOF {
			must(t, err)
		}
		return seen
	}
}

// Looking takes nothing: no start is refused beside any number of queries, and
// no query sees a danger where there is none.
func TestG6QueriesTakeNothing(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	once(t, dir)
	var ends []func() map[solehold.State]int
	for range 4 {
		ends = append(ends, inspector(t, dir))
	}
	for range 500 + soak(10_000) {
		once(t, dir)
	}
	seen := map[solehold.State]int{}
	for _, end := range ends {
		for s, n := range end() {
			seen[s] += n
		}
	}
	t.Log(seen)
	if seen[solehold.Held] == 0 || seen[solehold.Free] == 0 || len(seen) != 2 {
		t.Errorf("states seen: %v, want HELD and FREE only", seen)
	}
}
