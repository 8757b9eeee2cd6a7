package solehold_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
)

// twin makes a command of testdata/twin.py, which knows nothing but what
// docs/protocol.md says.
func twin(t *testing.T, how, dir string) *exec.Cmd {
	t.Helper()
	python := testneed.Program(t, "/usr/bin/python3", "apt-get install python3") // every user may run it
	text, err := os.ReadFile("testdata/twin.py")                                 // by text: other users may not read this directory
	must(t, err)
	cmd := exec.Command(python, "-c", string(text), how, dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// startTwin starts a twin that takes dir, and returns its pid.
func startTwin(t *testing.T, how, dir string, tweaks ...func(*exec.Cmd)) int {
	t.Helper()
	pid, _ := runningTwin(t, how, dir, tweaks...)
	return pid
}

// runningTwin also returns what ends the twin.
func runningTwin(t *testing.T, how, dir string, tweaks ...func(*exec.Cmd)) (pid int, end func()) {
	t.Helper()
	cmd := twin(t, how, dir)
	for _, tweak := range tweaks {
		tweak(cmd)
	}
	out, err := cmd.StdoutPipe()
	must(t, err)
	end = background(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "mine\n" {
		t.Fatalf("the twin says %q, %v", line, err)
	}
	return cmd.Process.Pid, end
}

func wantTwinRefused(t *testing.T, dir string) {
	t.Helper()
	if out, err := twin(t, "hold", dir).Output(); string(out) != "held\n" {
		t.Errorf("the twin says %q, %v", out, err)
	}
}

// A program in another language that follows docs/protocol.md keeps us out.
func TestTwinExcludesUs(t *testing.T) {
	t.Parallel()
	for name, used := range map[string]bool{"new directory": false, "used directory": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			if used {
				once(t, dir)
			}
			pid, end := runningTwin(t, "hold", dir)
			a := start(t)
			got := a.acquire(t, dir)
			wantHeld(t, got)
			if got.Owner.PID != pid || !got.Owner.Proven || !strings.Contains(got.Text, "python") {
				t.Errorf("owner %+v in %q, want pid %d", got.Owner, got.Text, pid)
			}
			wantState(t, dir, "HELD")
			end()
			wantFree(t, a.acquire(t, dir))
		})
	}
}

// The mark alone keeps us out after the lock file was removed.
func TestTwinsMarkExcludesUs(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	_, end := runningTwin(t, "hold", dir)
	must(t, removeState(dir))
	a := start(t)
	wantHeld(t, a.acquire(t, dir))
	wantState(t, dir, "DETACHED")
	end()
	wantFree(t, a.acquire(t, dir))
}

// We keep the twin out, also with the lock file removed.
func TestWeExcludeTwin(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	lock := hold(t, dir)
	wantTwinRefused(t, dir)
	for range 5 {
		must(t, removeState(dir))
		wantTwinRefused(t, dir)
	}
	testneed.Until(t, "it is repaired", func() bool { return state(t, dir).State == solehold.Held })
	wantKept(t, lock)
	must(t, lock.Release())
	startTwin(t, "hold", dir)
}
