package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program that is installed starts its own roles: one experiment with processes, one in namespaces.
func TestLabOfTheProgram(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "solehold-drill")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"posix-close", "deleted"} {
		out, err := exec.Command(tool, "lab", name).CombinedOutput()
		if text := string(out); err != nil && !strings.Contains(text, "(not run: needs ") || err == nil && !strings.Contains(text, "1 as described\n") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	out, err := exec.Command(tool, "lab", "no-such").CombinedOutput()
	if err == nil || err.Error() != "exit status 64" || !strings.Contains(string(out), "solehold lab list") {
		t.Errorf("%v\n%s", err, out)
	}
}
