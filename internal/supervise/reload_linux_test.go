//go:build !solehold_portable

package supervise_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reloader is a service that says what it reads at each SIGHUP.
const reloader = `trap 'echo "now: $(cat "$1")"' HUP; echo "began: $(cat "$1")"; while :; do sleep 0.05; done`

// reloading runs a service that is told of its configuration.
func reloading(t *testing.T, script string, flags ...string) (conf string, lines func(want string) string, run *exec.Cmd) {
	t.Helper()
	conf = filepath.Join(t.TempDir(), "conf")
	replace(t, conf, "one")
	lines, run = reloadingFrom(t, conf, script, flags...)
	return conf, lines, run
}

func reloadingFrom(t *testing.T, conf, script string, flags ...string) (lines func(want string) string, run *exec.Cmd) {
	t.Helper()
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
	return reads(t, reader), run
}

// reads returns a function that reads on until a line contains a text, and returns
// all that was read so far.
func reads(t *testing.T, from *os.File) func(string) string {
	var seen strings.Builder
	buf := make([]byte, 4096)
	return func(want string) string {
		t.Helper()
		for !strings.Contains(seen.String(), want) {
			n, err := from.Read(buf)
			if err != nil {
				t.Fatalf("%q never came: %v\n%s", want, err, seen.String())
			}
			seen.Write(buf[:n])
		}
		return seen.String()
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
	line("; it goes on with what it has")
	replace(t, conf, "three")
	line("now: three")
}

// The writer's own protocol: a lock file, the content by rename, its sum, and the
// lock file removed. Nothing is told before, and a sum that does not fit is corrupt.
func TestReloadAsTheWriterSays(t *testing.T) {
	t.Parallel()
	conf := filepath.Join(t.TempDir(), "conf")
	lock, sum := conf+".lock", conf+".sha256"
	write := func(text, sealed string) {
		replace(t, conf, text)
		replace(t, sum, fmt.Sprintf("%x  conf\n", sha256.Sum256([]byte(sealed))))
	}
	write("one", "one")
	line, _ := reloadingFrom(t, conf, reloader, "--reload-lock", lock, "--reload-sum", sum)
	line("began: one")
	replace(t, lock, "")
	write("two", "two") // never told: it is gone when the lock is
	write("three", "three")
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if said := line("now: three"); strings.Contains(said, "two") {
		t.Errorf("told before the lock file was gone: %s", said)
	}
	write("four", "forty")
	line("is not told: " + conf + ": the content does not fit its checksum in " + sum)
	line("; it goes on with what it has")
	write("five", "five")
	line("now: five")
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

// A file that is missing when the command starts is told when it comes: nothing that
// the command has not seen counts as known.
func TestReloadOfMissingFile(t *testing.T) {
	t.Parallel()
	conf := filepath.Join(t.TempDir(), "conf")
	line, _ := reloadingFrom(t, conf, reloader)
	line("began: ")
	replace(t, conf, "one")
	line("now: one")
}

// Of many changes in a row the last is told.
func TestReloadBurst(t *testing.T) {
	t.Parallel()
	conf, line, _ := reloading(t, reloader)
	line("began: one")
	for i := range 200 {
		replace(t, conf, fmt.Sprintf("v%d.", i))
	}
	line("now: v199.")
}

// checked waits until a content has been checked, which logged it.
func checked(t *testing.T, log, text string) {
	t.Helper()
	for late := time.Now().Add(30 * time.Second); ; runtime.Gosched() {
		if seen, err := os.ReadFile(log); err == nil && strings.Contains(string(seen), text) {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%q was never checked", text)
		}
	}
}

// Changes that come while the command does not listen become one, and a restart in
// the meantime begins with the newest.
func TestReloadWhilePending(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"deaf":    {`until [ -e "$1.go" ]; do sleep 0.05; done; ` + reloader, "now: six"},
		"restart": {`if [ ! -e "$1.go" ]; then echo began; until [ -e "$1.go" ]; do sleep 0.05; done; exit 1; fi; ` + reloader, "began: six"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			conf, line, run := reloading(t, "echo up; "+c.script, "--reload-check", "cat >>"+log, "--restart", "on-failure", "--restart-delay", "0s")
			line("up")
			for _, text := range []string{"two", "three", "four", "five", "six"} {
				replace(t, conf, text)
				checked(t, log, text)
			}
			if err := os.WriteFile(conf+".go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			line(c.want)
			replace(t, conf, "seven")
			line("now: seven")
			out, err := exec.Command(tool, "history", "--json", run.Args[len(run.Args)-7]).Output()
			if n := strings.Count(string(out), "SIGHUP sent"); err != nil || n > 3 { // the one before the newest too, if that was still on its way
				t.Errorf("told %d times, %v\n%s", n, err, out)
			}
		})
	}
}
