package drill_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// TestWhoChangesFiles is told by the kernel: which process, which file, below folders as well; solehold's own files and what
// the drill does itself are not told.
func TestWhoChangesFiles(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	must(t, os.MkdirAll(filepath.Join(dir, "a", ".solehold"), 0o700))
	ear, deaf, err := drill.NewEar(dir)
	must(t, err)
	defer ear.Close()
	testneed.Feature(t, deaf == nil, "fanotify", "run the tests on a kernel with it, as root of the first user namespace")
	must(t, os.WriteFile(filepath.Join(dir, "ours"), []byte("x"), 0o600))
	for _, name := range []string{"data", "a/log", "a/b/deep"} {
		hidden := filepath.Join(dir, "a", ".solehold", "lock")
		cmd := exec.Command("sh", "-c", `echo x >"$1"; exec sh -c 'echo $$; echo x >>"$1"' sh "$2"`, "sh", hidden, filepath.Join(dir, name))
		must(t, cmd.Run())
		pid, path := ear.Next()
		if pid != cmd.Process.Pid || path != filepath.Join(dir, name) {
			t.Errorf("told of pid %d and %s, want pid %d and %s", pid, path, cmd.Process.Pid, name)
		}
	}
}

// TestTooManyFolders says that it does not hear all of them.
func TestTooManyFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, a := range "0123456789" {
		for _, b := range "0123456789" {
			for _, c := range "0123456789" {
				must(t, os.MkdirAll(filepath.Join(dir, string(a), string(b), string(c)), 0o700))
			}
		}
	}
	ear, _, err := drill.NewEar(dir)
	t.Cleanup(ear.Close)
	if err == nil || err.Error() != "more than 1000 folders: changes in the others are not told" {
		t.Error(err)
	}
}

// TestNoFolder has nothing to listen to.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	ear, _, err := drill.NewEar(filepath.Join(t.TempDir(), "gone"))
	t.Cleanup(ear.Close)
	if err != nil {
		t.Errorf("a folder that was removed meanwhile is no error: %v", err)
	}
}

// answers is a script, one for each question; the last one stays.
type answers struct {
	all   []health.Verdict
	asked int
}

// Check gives the next answer.
func (a *answers) Check(context.Context) health.Result {
	v := a.all[min(a.asked, len(a.all)-1)]
	a.asked++
	return health.Result{Verdict: v, Detail: "answer " + string(rune('0'+a.asked))}
}

// TestAsking asks until the first good answer, twenty times a second, and keeps the newest of the others.
func TestAsking(t *testing.T) {
	for name, c := range map[string]struct {
		answers []health.Verdict
		took    time.Duration
		last    string
		asked   int
	}{
		"at once":          {[]health.Verdict{health.OK}, 0, "", 1},
		"after a while":    {[]health.Verdict{health.Fail, health.Unknown, health.OK}, 100 * time.Millisecond, "unknown: answer 2", 3},
		"slow is not good": {[]health.Verdict{health.Fail, health.Slow, health.OK}, 100 * time.Millisecond, "slow: answer 2 in 0s", 3},
		"never":            {[]health.Verdict{health.Fail}, 0, "fail: answer 8", 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), 375*time.Millisecond)
				defer stop()
				a := &answers{all: c.answers}
				took, last := drill.AskOn(ctx, a)
				if took != c.took || last != c.last || a.asked != c.asked {
					t.Errorf("good after %v, last other %q, asked %d times; want %v, %q, %d", took, last, a.asked, c.took, c.last, c.asked)
				}
			})
		})
	}
}

func (a *answers) String() string { return "a script" }
