package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/solehold/solehold/health"
	"golang.org/x/sys/windows"
)

// host is what Windows has for a run: a Job object, in which the command is before
// it runs its first instruction. Nobody leaves it, and the system ends all of it
// with the last handle, that is with this process, however that ends.
type host struct {
	tree     *tree
	children chan struct{}
}

func newHost() host { return host{children: make(chan struct{}, 1)} }

// able refuses what this system has not.
func able(c Config) error {
	switch {
	case c.Reload != nil:
		return unable("tell a command of a changed file: there are no signals; use the reload package in the program")
	case c.StopSignal != DefaultStopSignal && c.StopSignal != 0, c.UnhealthySignal != DefaultStopSignal && c.UnhealthySignal != 0:
		return unable("choose a signal: a command is asked to end with Ctrl+Break")
	}
	return linuxOnly(c)
}

// listen catches Ctrl+C, Ctrl+Break, and the end of the console, the session or
// the system, which Go tells as SIGINT and SIGTERM.
func (r *runner) listen() { r.forward(os.Interrupt, syscall.SIGTERM) }

func (r *runner) listenToAll() {}

func surviveReaders() {}

func (r *runner) inherit() {}

// settleIn makes the job. Without a console of our own nobody below could be asked
// to end: a service gets one, which nobody sees.
func (r *runner) settleIn() (err error) {
	if !hasConsole() {
		allocConsole()
	}
	r.tree, err = newTree()
	return err
}

// attended reports whether a person has started this.
func (r *runner) attended() bool {
	return isTerminal(os.Stdin)
}

func (h *host) close() { windows.CloseHandle(h.tree.job) }

func (r *runner) groupName() string { return "" }

// commands runs those of probes, which are beside the job.
func (h *host) commands() health.Runner { return nil }

// fork starts the command. It inherits the standard files and nothing else.
func (r *runner) fork() (*child, error) {
	how := &os.ProcAttr{
		Env: r.relay.environment(r.lock), Files: r.output.standard(),
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP},
	}
	p, err := os.StartProcess(r.path, r.c.Command, how)
	if err != nil {
		return nil, err
	}
	var keep []uintptr
	if r.c.Hold != HoldNone {
		keep = r.lock.Share()
	}
	c := &child{pid: p.Pid}
	handleErr := p.WithHandle(func(h uintptr) { err = r.tree.take(windows.Handle(h), keep, c) })
	if err = errors.Join(handleErr, err); err != nil {
		p.Kill()
		p.Wait()
		return nil, fmt.Errorf("it cannot be put into its job: %w", err)
	}
	p.Release()
	go c.tell(r.tree.job, r.children, r.done)
	return c, nil
}

// reap takes in the end of the command.
func (r *runner) reap() {
	if r.child == nil || r.end != nil {
		return
	}
	if event, err := windows.WaitForSingleObject(r.child.process, 0); err != nil || event != windows.WAIT_OBJECT_0 {
		return
	}
	var code uint32
	windows.GetExitCodeProcess(r.child.process, &code)
	r.ended(End{Code: int(code)})
}

func (r *runner) explain(*End) {}

// askGroup sends Ctrl+Break to the command's group. Ctrl+C would not reach it: a
// group is deaf for that from its birth. Where there is no console, a program that
// guards itself hears a request to let go all the same.
func (r *runner) askGroup(syscall.Signal) bool {
	err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(r.child.pid))
	if err == nil || r.released && r.lock.Joined() {
		return true
	}
	r.c.Say("there is no console through which to ask pid %d to end: %v", r.child.pid, err)
	return false
}

func (r *runner) filter(context.Context, string, []byte) (health.Exit, error) {
	return health.Exit{}, errors.ErrUnsupported
}

func (r *runner) hears(syscall.Signal) bool { return false }

// passOn has nothing to pass: every other signal is for other systems.
func (r *runner) passOn(syscall.Signal) {}

func (r *runner) keepSlim() {}

func (r *runner) probed() {}

func (r *runner) relieve() {}

// Mirror exits as e says.
func Mirror(e End, _ bool) int { return e.Code }
