package testneed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// fakeWine puts programs on PATH that note how they were called.
func fakeWine(t *testing.T) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	const note = "#!/bin/sh\necho \"${0##*/} $* in $WINEPREFIX\" >>"
	for _, name := range []string{"wine", "wine64", "wineserver", "x86_64-w64-mingw32-gcc"} {
		text := note + calls + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return calls
}

// A Windows is made before the test goes on, with the library that Go needs, and its
// server is ended with the test.
func TestWineIsMadeAndEnded(t *testing.T) {
	calls := fakeWine(t)
	var prefix string
	var left *exec.Cmd
	t.Run("inner", func(t *testing.T) {
		w := testneed.Wine(t)
		prefix = filepath.Dir(w.Disk())
		cmd := w.Command(t.Context(), "/tmp/a b.exe", "x")
		left = exec.Command("sleep", "1000")
		left.Env = cmd.Env
		if err := left.Start(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(cmd.Args[1:], "|"); got != `Z:\tmp\a b.exe|x` {
			t.Errorf("arguments %q", got)
		}
		if !strings.Contains(strings.Join(cmd.Env, "\n"), "\nWINEPREFIX="+prefix+"\n") {
			t.Errorf("environment %q", cmd.Env)
		}
	})
	if err := left.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("what its server has left: %v", err)
	}
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	want := []string{"wineserver -p60", "wine wineboot -i", "x86_64-w64-mingw32-gcc -shared", "wineserver -k", "wineserver -w"}
	if len(lines) != len(want) {
		t.Fatalf("calls %q", lines)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) || !strings.HasSuffix(lines[i], " in "+prefix) {
			t.Errorf("call %q, want %q in %s", lines[i], w, prefix)
		}
	}
	if _, err := os.Stat(prefix); !os.IsNotExist(err) {
		t.Errorf("the prefix stays: %v", err)
	}
}

func TestWineIsMissing(t *testing.T) {
	t.Setenv("SOLEHOLD_NO_SKIP", "")
	t.Setenv("PATH", t.TempDir())
	wentOn := false
	t.Run("inner", func(t *testing.T) {
		testneed.Wine(t)
		wentOn = true
	})
	if wentOn {
		t.Error("a test went on without Wine")
	}
}
