//go:build !solehold_portable

package supervise_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
)

// A program that guards itself takes the seat beside its wrapper.
func TestGuardedProgramJoins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `"$SELF" guarded "$DIR" & echo first $!; wait`)
	r.out.await("token 1\n", 1)
	if st := s.status(); st.State != solehold.Held || st.Token != 1 {
		t.Errorf("status is %s, token %d", st.State, st.Token)
	}
	r.signal(syscall.SIGKILL)
	r.wait()
	// The program ignores TERM, and the shell above it is gone.
	pid := number(t, r.out.text(), "first ")
	testneed.Until(t, "the program owns it", func() bool { st := s.status(); return st.Owner != nil && st.Owner.PID == pid })
	if st := s.status(); st.State != solehold.Held || !st.Owner.WrapperGone {
		t.Errorf("status is %s, owner %+v", st.State, st.Owner)
	}
	s.sh(nil, "echo started", "--held-exit", "75").exits(75)
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	gone(t, pid)
	s.sh(nil, "exit 3").exits(3)
}

func TestSecondGuardedProgramIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `"$SELF" guarded "$DIR" & while [ ! -e go ]; do sleep 0.01; done; "$SELF" guarded "$DIR"; echo code $?; kill -9 $!; exit 5`)
	r.out.await("token 1\n", 1)
	must(t, os.WriteFile(s.path("go"), nil, 0o600))
	r.exits(5)
	if text := r.out.all(); !strings.Contains(text, "code 0") || strings.Count(text, "token") != 1 {
		t.Errorf("output: %s", text)
	}
	r.errs.await("Nothing to do.", 1)
	s.free()
}

// number reads the number after a word.
func number(t *testing.T, text, word string) int {
	t.Helper()
	_, after, _ := strings.Cut(text, word)
	digits, _, _ := strings.Cut(after, "\n")
	n, err := strconv.Atoi(digits)
	must(t, err)
	return n
}

// When the lock cannot be proven any more the command must not go on.
func TestLostLockStopsTheCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, brood+`trap 'echo asked' INT; while :; do sleep 0.01; done`, "--grace", "300ms", "--stop-signal", "INT")
	r.out.await("up", 6)
	// The holder puts the lock file back as long as there is a place for it.
	testneed.Until(t, "the directory is removed", func() bool { return os.RemoveAll(s.dir) == nil })
	r.exits(76)
	r.errs.await("stopping the command", 1)
	r.out.await("asked", 1)
	if left := marked(s.mark); len(left) > 0 {
		t.Errorf("still alive: %v", left)
	}
}

// Whoever wants the directory may ask for it.
func TestRequestToLetGo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `trap 'echo asked; exit 6' INT; echo up; while :; do sleep 0.01; done`, "--stop-signal", "INT")
	r.out.await("up", 1)
	place := filepath.Join(s.dir, ".solehold")
	ask := func(text string) {
		must(t, os.WriteFile(filepath.Join(place, "asked"), []byte(text), 0o600))
		must(t, os.Rename(filepath.Join(place, "asked"), filepath.Join(place, "release")))
	}
	ask(`{"token":999}`) // meant for another one
	ask(`{"token":1}`)
	r.exits(6)
	r.out.await("asked", 1)
	if h := s.history(); !strings.Contains(h, "release-requested") {
		t.Errorf("history: %s", h)
	}
	s.free()
}

func TestHistoryOfARun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sh(nil, "exit 3").exits(3)
	if h := s.history(); h != "acquired child-started child-exited released" {
		t.Errorf("history: %s", h)
	}
}
