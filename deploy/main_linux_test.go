package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is the directory of the programs that the tests drive.
var bin string

func TestMain(m *testing.M) {
	if config := os.Getenv(memberVar); config != "" {
		if err := member(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(withPrograms(m.Run))
}

func withPrograms(run func() int) int {
	dir, err := os.MkdirTemp("", "deploy")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	build := exec.Command("go", "build", "-o", dir+"/", "../cmd/solehold", "../cmd/solehold-cluster", "../cmd/solehold-serve")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	// Wrappers that a test has killed leave their cgroups to the next run.
	defer exec.Command(filepath.Join(dir, "solehold"), "run", dir, "--", "true").Run()
	return run()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
