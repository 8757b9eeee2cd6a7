//go:build !solehold_portable

package supervise_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/supervise"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// signals are those that a service ends by.
func deadly() []syscall.Signal {
	return []syscall.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV,
		syscall.SIGKILL, syscall.SIGUSR1, syscall.SIGPIPE, syscall.Signal(40),
	}
}

func TestExitCodeIsTheCommands(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 1, 2, 64, 75, 78, 126, 127, 128, 137, 143, 255} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := s.sh(nil, fmt.Sprintf("exit %d", code))
			r.exits(code)
			if text := r.errs.all(); text != "" {
				t.Errorf("stderr: %s", text)
			}
			s.free()
		})
	}
}

// A supervisor above decides by the signal (systemd's Restart=on-abnormal, its
// list of clean signals), so 128+n would mislead it.
func TestDeathBySignalIsMirrored(t *testing.T) {
	t.Parallel()
	for _, sig := range deadly() {
		t.Run(fmt.Sprint(int(sig)), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := s.sh([]how{through(`ulimit -c unlimited; exec "$@"`)}, fmt.Sprintf("kill -%d $$; echo survived", sig))
			r.dies(sig)
			if r.cmd.ProcessState.Sys().(syscall.WaitStatus).CoreDump() {
				t.Error("the wrapper dumped a core")
			}
			if text := r.errs.all(); text != "" {
				t.Errorf("stderr: %s", text)
			}
			s.free()
		})
	}
}

func TestNoMirrorGivesACode(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGABRT, syscall.SIGKILL} {
		s := newSite(t)
		r := s.sh(nil, fmt.Sprintf("kill -%d $$", sig), "--no-mirror")
		r.exits(128 + int(sig))
	}
}

// Pid 1 cannot kill itself.
func TestPIDOneGivesACode(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	s := newSite(t)
	s.sh([]how{inPIDs}, "kill -ABRT $$").exits(128 + int(syscall.SIGABRT))
	s.free()
}

// The core of the command says what happened, that of the wrapper nothing.
func TestCoreIsOfTheCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	must(t, os.Mkdir(s.path("cores"), 0o777))
	r := s.sh([]how{through(`ulimit -c unlimited; exec "$@"`)}, "cd cores; kill -ABRT $$")
	r.dies(syscall.SIGABRT)
	if found, _ := os.ReadDir(s.path("cores")); len(found) > 1 {
		t.Errorf("%d cores, want that of the command at most", len(found))
	}
	for _, e := range ls(t, s.base) {
		if e != "data" && e != "cores" {
			t.Errorf("the wrapper left %s", e)
		}
	}
}

func ls(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSignalNames(t *testing.T) {
	t.Parallel()
	for n := syscall.Signal(1); n < 32; n++ {
		name := supervise.SignalName(n)
		back, err := supervise.ParseSignal(name)
		if name == fmt.Sprintf("signal %d", n) {
			continue // has no name for --stop-signal
		}
		if err != nil || back != n || name != unix.SignalName(n) {
			t.Errorf("signal %d is called %s, which is read as %d, %v", n, name, back, err)
		}
	}
	for text, want := range map[string]syscall.Signal{"TERM": 15, "sigterm": 15, "SIGINT": 2, "15": 15, "34": 34, "usr1": syscall.SIGUSR1} {
		if got, err := supervise.ParseSignal(text); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "65", "-1", "SIG", "TERMINATE", "15x"} {
		if got, err := supervise.ParseSignal(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

func TestEndSaysItInWords(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]supervise.End{
		"exit code 0":                    {},
		"exit code 7":                    {Code: 7},
		"killed by SIGTERM":              {Signal: syscall.SIGTERM},
		"killed by SIGSEGV, core dumped": {Signal: syscall.SIGSEGV, Core: true},
		"killed by signal 40":            {Signal: 40},
	} {
		if got := e.String(); got != want {
			t.Errorf("%+v is %q, want %q", e, got, want)
		}
	}
}
