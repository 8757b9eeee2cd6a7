package lab_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/lab"
	"github.com/spf13/cobra"
)

// The test binary is the program, too: experiments start it again in roles, and some tests start it as a user does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "lab" {
		os.Exit(program(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func program(args []string) int {
	code := 0
	root := &cobra.Command{Use: "solehold-drill", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(lab.Command(&code))
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 64
	}
	return code
}

// output is what one call of the program gave.
type output struct {
	stdout, stderr string
	code           int
}

// call runs `lab` with args; how may change the process.
func call(t *testing.T, how func(*exec.Cmd), args ...string) output {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return callPath(t, path, how, args...)
}

func callPath(t *testing.T, path string, how func(*exec.Cmd), args ...string) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), path, append([]string{"lab"}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if how != nil {
		how(cmd)
	}
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIn(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// asNobody runs a program of ours as a user without rights, with a temporary directory of his own.
func asNobody(t *testing.T) (path string, how func(*exec.Cmd), tmp string) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "lab-nobody-") // below t.TempDir others may not pass
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	must(t, err)
	path, tmp = filepath.Join(dir, "solehold-drill"), filepath.Join(dir, "tmp")
	text, err := os.ReadFile(self)
	must(t, err)
	must(t, os.WriteFile(path, text, 0o755))
	must(t, os.Mkdir(tmp, 0o700))
	must(t, os.Chown(tmp, nobody, nobody))
	return path, func(cmd *exec.Cmd) {
		cmd.Dir = tmp
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "HOME="+tmp)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}, tmp
}
