package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/cli"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dataDir makes an empty data directory that every user can reach.
func dataDir(t testing.TB) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Chmod(filepath.Dir(top), 0o755))
	must(t, os.Chmod(top, 0o755))
	dir := filepath.Join(top, "data")
	must(t, os.Mkdir(dir, 0o755))
	return dir
}

// result is how a command ended.
type result struct {
	code           int // 128+n for signal n
	stdout, stderr string
}

// program runs one of the programs on the tests' PATH, solehold among them, to
// its end.
func program(t testing.TB, name string, args ...string) result {
	t.Helper()
	cmd := exec.Command(name, args...)
	return finished(t, cmd)
}

func finished(t testing.TB, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{codeOf(cmd), stdout.String(), stderr.String()}
}

func codeOf(cmd *exec.Cmd) int {
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// ask runs a command that only asks, in this process.
func ask(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := cli.Run(context.Background(), cli.Env{Stdin: new(bytes.Buffer), Stdout: &stdout, Stderr: &stderr}, args)
	return result{code, stdout.String(), stderr.String()}
}

// hold runs a command under the lock of a directory for the length of the test,
// and returns when that shows.
func hold(t testing.TB, dir string, command ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("solehold", append([]string{"run", "--name", "kb", dir, "--"}, command...)...)
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGCONT)
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	if await([]string{dir, "HELD", `"wrapper":`}) != 0 {
		t.Fatal("it is not held")
	}
	return cmd
}

// object reads one JSON object.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return m
}
