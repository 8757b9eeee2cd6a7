package supervise_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/supervise"
)

// How a command ended is told in words, with the name that the system has for it.
func TestEndInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  supervise.End
		says string
	}{
		{supervise.End{}, "exit code 0"},
		{supervise.End{Code: 255}, "exit code 255"},
		{supervise.End{Code: -1}, "exit code -1"},
		{supervise.End{Signal: syscall.SIGKILL}, "killed by SIGKILL"},
		{supervise.End{Signal: syscall.SIGSEGV, Core: true}, "killed by SIGSEGV, core dumped"},
		{supervise.End{Signal: syscall.Signal(99)}, "killed by signal 99"},
		{supervise.End{Signal: syscall.SIGKILL, OOM: "memory.events"}, "killed by the kernel for want of memory (memory.events)"},
	} {
		if got := c.end.String(); got != c.says {
			t.Errorf("%+v: %q, want %q", c.end, got, c.says)
		}
	}
}

// The codes that Windows gives a process which it has ended itself: where an int
// is too small for them they come as negative ones.
func TestEndByWindows(t *testing.T) {
	t.Parallel()
	for code, says := range map[uint64]string{
		0xC0000005: "exit code 0xc0000005, access violation",
		0xC00000FD: "exit code 0xc00000fd, stack overflow",
		0xC0000135: "exit code 0xc0000135, a DLL is missing",
		0xC0000142: "exit code 0xc0000142, a DLL could not begin",
		0xC000013A: "exit code 0xc000013a, ended by Ctrl+C",
		0xC0000409: "exit code 0xc0000409",
		0xBFFFFFFF: "exit code 3221225471",
	} {
		n := int(code)
		if uint64(n) != code {
			continue // no such int on this machine
		}
		if got := (supervise.End{Code: n}).String(); got != says {
			t.Errorf("%#x: %q, want %q", code, got, says)
		}
	}
}

// Every error of a run names what it is about and what was seen, on one line.
func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	cause := errors.New("the reason")
	for _, c := range []struct {
		err  error
		says []string
	}{
		{&supervise.CommandError{Command: "serve", Err: os.ErrNotExist}, []string{"serve", "no such command"}},
		{&supervise.CommandError{Command: "serve", Err: cause}, []string{"serve", "cannot be run", "the reason"}},
		{&supervise.StillHeldError{Dir: "/data", Why: "the reason"}, []string{"/data", "still held", "the reason"}},
		{&supervise.ClusterHeldError{Name: "kb", Info: "kb on host a", Token: 7}, []string{`"kb"`, "kb on host a", "token 7"}},
		{&supervise.ClusterHeldError{Name: "kb", Token: 7}, []string{`"kb"`, "did not say who it is", "token 7"}},
		{&supervise.ClusterHeldError{Name: "kb\nforged", Info: "a\nb"}, []string{`"kb\nforged"`, "a?b"}},
		{&supervise.ClusterLostError{Name: "kb", Token: 7, Why: "the reason"}, []string{`"kb"`, "token 7", "lost", "the reason"}},
		{&supervise.NoClusterError{Dir: "/data", Token: 7}, []string{"/data", "token 7", "nothing was started"}},
		{&supervise.ClusterLostError{Name: "kb", Why: "a\x1b[2Jb"}, []string{"a?[2Jb"}},
		{&supervise.ClusterError{Text: "a\nb"}, []string{"a?b"}},
		{&supervise.ClusterError{Fault: wire.Away, Text: "the reason"}, []string{"nothing was started", "the reason"}},
	} {
		text := c.err.Error()
		for _, part := range c.says {
			if !strings.Contains(text, part) {
				t.Errorf("%T: %q does not say %q", c.err, text, part)
			}
		}
		if strings.Contains(text, "\n") {
			t.Errorf("%T: more than one line: %q", c.err, text)
		}
		if c.err.Error() != fmt.Sprint(c.err) {
			t.Errorf("%T: told in two ways", c.err)
		}
	}
	if err := error(&supervise.CommandError{Command: "serve", Err: cause}); !errors.Is(err, cause) {
		t.Error("the reason is lost")
	}
}
