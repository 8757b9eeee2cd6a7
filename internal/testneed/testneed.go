// Package testneed lets a test say what it needs and how to get it.
//
// Where something is missing the test is skipped with one line, "needs WHAT; get it: HOW". With SOLEHOLD_NO_SKIP=1 in
// the environment, as in CI, it fails with the same line instead: a test that never runs proves nothing.
package testneed

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Root needs the rights of root: effective user id 0.
func Root(t testing.TB) {
	t.Helper()
	Feature(t, os.Geteuid() == 0, "root", "run the tests as root, for example in a container")
}

// Linux needs Linux.
func Linux(t testing.TB) {
	t.Helper()
	Feature(t, runtime.GOOS == "linux", "Linux", "run the tests on Linux")
}

// Program needs the program called name and gives its path. Directories that PATH often lacks are searched as well:
// those of system programs and of PostgreSQL servers.
func Program(t testing.TB, name, howToGet string) string {
	t.Helper()
	path := Find(name)
	Feature(t, path != "", name, howToGet)
	return path
}

// Feature needs what, which the caller has looked for: ok tells whether it is there.
func Feature(t testing.TB, ok bool, what, howToGet string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("SOLEHOLD_NO_SKIP") == "1":
		t.Fatalf("needs %s; get it: %s", what, howToGet)
	default:
		t.Skipf("needs %s; get it: %s", what, howToGet)
	}
}

// Find gives the path of the program called name, or "".
func Find(name string) string {
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/lib/postgresql/*/bin"} {
		found, _ := filepath.Glob(filepath.Join(dir, name)) // the patterns are constants
		for i := len(found) - 1; i >= 0; i-- {              // the newest version first
			if p, err := exec.LookPath(found[i]); err == nil {
				return p
			}
		}
	}
	return ""
}
