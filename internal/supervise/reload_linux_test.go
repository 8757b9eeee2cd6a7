package supervise_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// reloader is a service that says what it reads at each SIGHUP.
const reloader = `trap 'echo "now: $(cat "$1")"' HUP; echo "began: $(cat "$1")"; while :; do sleep 0.05; done`

// reloading runs a service that is told of its configuration.
func reloading(t *testing.T, script string, flags ...string) (conf string, lines func(want string), run *exec.Cmd) {
	t.Helper()
	conf = filepath.Join(t.TempDir(), "conf")
	replace(t, conf, "one")
	args := append([]string{"run", "--create", "--reload", conf}, flags...)
	run = exec.Command(tool, append(args, filepath.Join(t.TempDir(), "data"), "--", "sh", "-c", script, "sh", conf)...)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	run.Stdout, run.Stderr = writer, writer
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	t.Cleanup(func() { run.Process.Signal(syscall.SIGTERM); run.Wait(); reader.Close() })
	return conf, reads(t, reader), run
}

// reads returns a function that reads on until a line contains a text.
func reads(t *testing.T, from *os.File) func(string) {
	var seen strings.Builder
	buf := make([]byte, 4096)
	return func(want string) {
		t.Helper()
		for !strings.Contains(seen.String(), want) {
			n, err := from.Read(buf)
			if err != nil {
				t.Fatalf("%q never came: %v\n%s", want, err, seen.String())
			}
			seen.Write(buf[:n])
		}
	}
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// A command is told of new content, and of nothing that its check refuses.
func TestReload(t *testing.T) {
	t.Parallel()
	conf, line, _ := reloading(t, reloader, "--reload-check", "! grep bad")
	line("began: one")
	replace(t, conf, "two")
	line("now: two")
	replace(t, conf, "bad")
	line("is not told: " + conf + ": the check refused it with code 1: bad")
	replace(t, conf, "three")
	line("now: three")
}

// A command that does not handle the signal is not ended by it.
func TestReloadDoesNotKill(t *testing.T) {
	t.Parallel()
	conf, line, _ := reloading(t, `echo "began"; sleep 1; `+reloader)
	line("began")
	replace(t, conf, "two") // before there is a trap
	line("began: two")
	line("now: two")
}
