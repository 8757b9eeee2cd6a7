package reload_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/reload"
)

// roleVar set, the test binary watches the file that its argument names, or reads it
// once, and says what it gets.
const roleVar = "RELOAD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "watch":
		refused := func(err error) { fmt.Printf("refused: %v\n", errors.Unwrap(err)) }
		err := reload.Watch(context.Background(), os.Args[1], reload.Options{Interval: time.Hour, Refused: refused}, func(v reload.Version) {
			fmt.Printf("%t %.14q\n", whole(v.Data), v.Data)
		})
		fmt.Println(err)
	case "read":
		quiet, err := time.ParseDuration(os.Args[2])
		once, cancel := context.WithCancel(context.Background())
		cancel()
		v, readErr := reload.Read(once, os.Args[1], reload.Options{Quiet: quiet})
		fmt.Printf("%q %v\n", v.Data, errors.Join(err, readErr))
	default:
		os.Exit(m.Run())
	}
}

// actor is such a process; with uid it is another user's.
func actor(t *testing.T, role string, uid uint32, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	if uid != 0 {
		cmd.Path = copyOf(t, self) // the build's directory is closed to others
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewReader(out)
}

func copyOf(t *testing.T, program string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	must(t, err)
	at := shared(t) + "/reload.test"
	must(t, os.WriteFile(at, text, 0o755))
	return at
}

// shared is a directory that other users may look into.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reload")
	must(t, err, os.Chmod(dir, 0o755))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
