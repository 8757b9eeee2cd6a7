//go:build !solehold_portable

package supervise_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/supervise"
)

func TestExecBecomesTheCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.sh(nil, `echo up $$ $SOLEHOLD_TOKEN "$SOLEHOLD_DIR"; exec sleep 1000`, "--exec")
	if text := r.out.await("up", 1); text != "up "+itoa(r.pid())+" 1 "+s.dir+"\n" {
		t.Errorf("the command says %q, want pid %d", text, r.pid())
	}
	st := s.status()
	if o := st.Owner; st.State != solehold.Held || o.PID != r.pid() || !o.Proven || o.Wrapper != 0 || st.Record.Name != "sh" {
		t.Errorf("status is %s, owner %+v, record %+v", st.State, o, st.Record)
	}
	second := s.sh(nil, "echo started", "--held-exit", "75")
	second.exits(75)
	second.errs.await("pid "+itoa(r.pid())+" (sleep 1000)", 1)
	r.signal(syscall.SIGTERM)
	r.dies(syscall.SIGTERM)
	s.sh(nil, "exit 3").exits(3)
}

// A command that closes every descriptor works unguarded, which is said.
func TestExecOfACommandThatDropsTheLock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.run(nil, "--exec", "--", self(t), "drop")
	r.out.await("dropped", 1)
	out, err := exec.Command(tool, "status", s.dir).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 5 || !strings.Contains(string(out), "UNGUARDED") {
		t.Errorf("status: %v\n%s", err, out)
	}
}

// What cannot be run is told, takes nothing and leaves nothing.
func TestCommandsThatCannotBeRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(t, os.WriteFile(s.path("notes"), []byte("text"), 0o644))
	must(t, os.WriteFile(s.path("orphan"), []byte("#!/no/such/interpreter\n"), 0o755))
	must(t, os.WriteFile(s.path("noise"), []byte("\x7fELF and then nothing"), 0o755))
	for command, want := range map[string]string{
		"no-such-command": "no-such-command: no such command",
		"./none":          "./none: no such command",
		"./notes":         "permission denied",
		"./orphan":        "interpreter",
		"./noise":         "exec format error",
	} {
		for _, flag := range []string{"--hold=tree", "--exec"} {
			r := s.run(nil, flag, "--", command)
			r.exits(64)
			if text := r.errs.all(); !strings.Contains(text, want) || strings.Count(text, "solehold: ") != 1 {
				t.Errorf("%s %s: %q, want one message with %q", flag, command, text, want)
			}
			if st := s.status(); st.State != solehold.Free || st.Record.Class != "none" && st.Record.Class != "released" {
				t.Errorf("%s %s: status is %s, record %s", flag, command, st.State, st.Record.Class)
			}
		}
	}
}

// A missing command is known before anything is taken.
func TestMissingCommandTakesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := supervise.Config{Dir: dir, Command: []string{"no-such-command"}}
	for name, call := range map[string]func() error{
		"Run":  func() error { _, err := supervise.Run(context.Background(), c); return err },
		"Exec": func() error { return supervise.Exec(context.Background(), c) },
	} {
		var command *supervise.CommandError
		err := call()
		if !errors.As(err, &command) || command.Command != "no-such-command" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if entries := ls(t, dir); len(entries) > 0 {
			t.Errorf("%s left %v", name, entries)
		}
	}
}
