//go:build darwin || dragonfly || freebsd || netbsd || openbsd || (linux && solehold_portable)

package supervise

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/solehold/solehold/health"
)

// host is what macOS and the BSDs have for a run: a process group for the command.
type host struct {
	inherited []int
	tree      *tree
	tty       *terminal
	children  chan os.Signal
}

func newHost() host { return host{children: make(chan os.Signal, 1)} }

// able refuses what these systems have not.
func able(c Config) error { return linuxOnly(c) }

// listenToAll catches the others, too, just before there is a command to pass them on to.
func (r *runner) listenToAll() {
	r.forward(syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGVTALRM)
}

// settleIn makes what outlives a single life of the command.
func (r *runner) settleIn() error {
	r.tree = &tree{wake: r.wake}
	r.tty = openTerminal()
	return nil
}

// wake has the loop look again.
func (r *runner) wake() {
	select {
	case r.children <- syscall.SIGCHLD:
	default:
	}
}

func (h *host) close() {}

func (r *runner) groupName() string { return "" }

// commands runs those of probes: each waits for its own.
func (h *host) commands() health.Runner { return nil }

// fork starts the command in a group of its own.
func (r *runner) fork() (*child, error) {
	s := r.spec()
	attr := &syscall.SysProcAttr{Setpgid: true}
	if r.tty.foreground() {
		attr.Setpgid, attr.Foreground, attr.Ctty = false, true, r.tty.fd
	}
	files, closeFiles := s.files()
	defer closeFiles()
	pid, _, err := syscall.StartProcess(s.path, s.args, &syscall.ProcAttr{Env: s.env, Files: files, Sys: attr})
	if err != nil {
		return nil, err
	}
	r.tree.begin(pid)
	return &child{pid}, nil
}

// reap takes in that the command has ended or stopped.
func (r *runner) reap() {
	for r.child != nil && r.end == nil {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(r.child.pid, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil, got <= 0:
			return
		case status.Exited(), status.Signaled():
			r.tree.orphaned = true
			r.ended(endFrom(status))
		case status.Stopped():
			r.stopped(status.StopSignal())
		}
	}
}

// explain adds what is known of an end beyond its status.
func (r *runner) explain(end *End) {
	end.Keys = r.tty.takeBack(r.child.pid) && (end.Signal == syscall.SIGINT || end.Signal == syscall.SIGQUIT)
}

func (r *runner) keepSlim() {}

func (r *runner) probed() {}

func (r *runner) relieve() {}

// askGroup asks the command's group to end, and reports whether it could. Who has
// left the group is found while its parent lives.
func (r *runner) askGroup(sig syscall.Signal) bool {
	r.tree.members()
	r.child.ask(sig)
	return true
}

// filter runs a command line with an input.
func (r *runner) filter(ctx context.Context, line string, data []byte) (health.Exit, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Stdin = bytes.NewReader(data)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return health.Exit{}, err
	}
	end := endFrom(cmd.ProcessState.Sys().(syscall.WaitStatus))
	return health.Exit{Code: end.Code, Signal: end.Signal, Output: out[:min(len(out), health.OutputLimit)]}, nil
}

// hears reports whether the command handles a signal, which is not asked here.
func (r *runner) hears(syscall.Signal) bool { return true }

// child is the command's first process. It is reaped by the loop alone: its number
// means it until then.
type child struct{ pid int }

// signal reaches the command's first process and no other.
func (c *child) signal(s syscall.Signal) { syscall.Kill(c.pid, s) }

// signalGroup reaches the command's process group.
func (c *child) signalGroup(s syscall.Signal) { syscall.Kill(-c.pid, s) }

func (c *child) close() {}

// descriptors lists those of this process.
const descriptors = "/dev/fd"
