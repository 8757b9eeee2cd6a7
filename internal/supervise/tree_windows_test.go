package supervise

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
)

// A process is in the job before it runs, so that all below it are; the job ends
// with one call, and with its last handle.
func TestJob(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*tree){
		"killed": (*tree).kill,
		"closed": func(tr *tree) { windows.CloseHandle(tr.job) },
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := newTree()
			must(t, err)
			if !tr.empty() || len(tr.pids()) != 0 || tr.names() != "" {
				t.Error("a new job is not empty")
			}
			c, wake := born(t, tr)
			for n := len(tr.pids()); n < 2; n = len(tr.pids()) { // it starts one below itself
				soon(t, wake)
			}
			if pids := tr.pids(); !slices.Contains(pids, c.pid) || tr.empty() || !strings.Contains(tr.names(), ".exe") {
				t.Errorf("%v, %s", pids, tr.names())
			}
			end(tr)
			if event, err := windows.WaitForSingleObject(c.process, uint32(patience.Milliseconds())); err != nil || event != windows.WAIT_OBJECT_0 {
				t.Errorf("it lives: %d, %v", event, err)
			}
		})
	}
}

// soon waits for a moment, or for a wake.
func soon(t *testing.T, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
		t.Fatal("it has ended")
	case <-time.After(10 * time.Millisecond):
	}
}

// born starts a process in the job that has another one below it.
func born(t *testing.T, tr *tree) (*child, chan struct{}) {
	t.Helper()
	in, keep, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { keep.Close() })
	p, err := os.StartProcess(os.Args[0], []string{os.Args[0]}, &os.ProcAttr{
		Env: append(os.Environ(), partVar+"=parent"), Files: []*os.File{in, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP},
	})
	must(t, err)
	in.Close()
	c := &child{pid: p.Pid}
	handleErr := p.WithHandle(func(h uintptr) { err = tr.take(windows.Handle(h), nil, c) })
	must(t, errors.Join(handleErr, err))
	t.Cleanup(c.close)
	wake, done := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(done) })
	go c.tell(tr.job, wake, done)
	return c, wake
}

// The handle that keeps a directory is the first process' own: it lives as long as
// that, without us and without being inherited.
func TestKeptHandle(t *testing.T) {
	t.Parallel()
	name, err := windows.UTF16PtrFromString("solehold-test-" + t.Name())
	must(t, err)
	event, err := windows.CreateEvent(nil, 1, 0, name)
	must(t, err)
	there := func() bool {
		h, err := windows.OpenEvent(windows.SYNCHRONIZE, false, name)
		if err == nil {
			windows.CloseHandle(h)
		}
		return err == nil
	}
	cmd := playing(t, "stay", 1)
	must(t, cmd.Process.WithHandle(func(h uintptr) {
		var theirs windows.Handle
		must(t, windows.DuplicateHandle(windows.CurrentProcess(), event, windows.Handle(h), &theirs, 0, false, windows.DUPLICATE_SAME_ACCESS))
	}))
	windows.CloseHandle(event)
	if !there() {
		t.Fatal("the child does not keep it")
	}
	cmd.Process.Kill()
	cmd.Wait()
	for end := time.Now().Add(patience); there(); {
		if time.Now().After(end) {
			t.Fatal("it is kept by nobody")
		}
	}
}

// What Windows has not is refused, each with its own word.
func TestUnableOnWindows(t *testing.T) {
	t.Parallel()
	for word, c := range map[string]Config{
		"changed file": {StopSignal: DefaultStopSignal, Reload: &Reload{}},
		"Ctrl+Break":   {StopSignal: syscall.SIGINT},
		"signal":       {StopSignal: DefaultStopSignal, UnhealthySignal: syscall.SIGQUIT},
	} {
		if err := able(c); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
	if err := Exec(t.Context(), Config{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if code := Mirror(End{Code: 0xC0000005}, false); code != 0xC0000005 {
		t.Errorf("%#x", code)
	}
}

// As a service: it runs at once, a stop is passed on and told for as long as it
// takes, and the manager learns how it ended.
func TestService(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		end      End
		err      error
		stop     bool
		specific bool
		code     uint32
	}{
		"ended well":  {},
		"ended badly": {end: End{Code: 3}, specific: true, code: 3},
		"stopped":     {end: End{Code: 137}, stop: true},
		"not started": {err: errors.New("no"), specific: true, code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &runner{signals: make(chan os.Signal, 1)}
			s := &service{r: r, work: func() (End, error) {
				if x.stop {
					<-r.signals
					r.stopWith = syscall.SIGTERM
				}
				return x.end, x.err
			}}
			asked, status := make(chan svc.ChangeRequest, 1), make(chan svc.Status, 16)
			if x.stop {
				asked <- svc.ChangeRequest{Cmd: svc.Stop}
			}
			specific, code := s.Execute(nil, asked, status)
			if specific != x.specific || code != x.code {
				t.Errorf("%t %d", specific, code)
			}
			if first := <-status; first.State != svc.Running || first.Accepts&svc.AcceptStop == 0 {
				t.Errorf("%+v", first)
			}
			if x.stop {
				if next := <-status; next.State != svc.StopPending {
					t.Errorf("%+v", next)
				}
			}
		})
	}
}

// A process whose console is another one, or that has none, cannot be asked: it is
// said and nothing is sent.
func TestAskWithoutConsole(t *testing.T) {
	t.Parallel()
	b, err := birthOf(playing(t, "stay", 1).pids[0])
	must(t, err)
	g, err := grasp(b)
	must(t, err)
	defer g.Close()
	if err := g.Signal(syscall.SIGTERM); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if g.Ended() {
		t.Error("it was ended all the same")
	}
}

// A command is found by its name without the extension, as in a shell.
func TestLookPath(t *testing.T) {
	t.Parallel()
	if path, err := lookPath("cmd"); err != nil || !strings.HasSuffix(strings.ToLower(path), "cmd.exe") {
		t.Error(path, err)
	}
	var named *CommandError
	if _, err := lookPath("no-such-command"); !errors.As(err, &named) || !strings.Contains(err.Error(), "no such command") {
		t.Error(err)
	}
	if err := exec.Command("cmd", "/c", "exit 0").Run(); err != nil {
		t.Error(err)
	}
}
