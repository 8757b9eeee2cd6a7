package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// The descriptors that every actor has, and hands to what it starts.
const (
	lifeFD = 3 // ends with the experiment
	goneFD = 4 // is held open until the end
)

// actor is a process of the experiment that does what it is told.
type actor struct {
	b       *bench
	cmd     *exec.Cmd
	pid     int
	orders  io.WriteCloser
	answers chan answer
}

// answer is what an actor says to an order.
type answer struct {
	Text  string
	Errno syscall.Errno // 0 if it was none of the kernel's
	Held  bool          // somebody else has it
	Error string
}

// orderError is an order that did not succeed.
type orderError struct {
	answer
	order []string
}

func (e *orderError) Error() string { return fmt.Sprintf("%v: %s", e.order, e.answer.Error) }

func (e *orderError) held() bool {
	return e.Held || e.Errno == syscall.EAGAIN || e.Errno == syscall.EACCES || e.Errno == syscall.EEXIST
}

func (e *orderError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// self is this program in a role.
func self(ctx context.Context, role ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, path, append([]string{"lab", roleWord}, role...)...), nil
}

// actor starts a process of the experiment.
func (b *bench) actor() *actor {
	a := &actor{b: b, answers: make(chan answer, 1)}
	b.do(a.start)
	return a
}

func (a *actor) start() error {
	b := a.b
	cmd, err := self(b.ctx, "actor")
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{b.life.r, b.gone.w}
	cmd.Stderr = os.Stderr
	if a.orders, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	a.cmd, a.pid = cmd, cmd.Process.Pid
	b.actors = append(b.actors, a)
	go a.listen(out)
	return nil
}

func (a *actor) listen(out io.Reader) {
	defer close(a.answers)
	in := json.NewDecoder(out)
	for {
		var got answer
		if in.Decode(&got) != nil {
			return
		}
		a.answers <- got
	}
}

// tell gives an order whose answer is taken later.
func (a *actor) tell(order ...string) {
	a.b.do(func() error { return json.NewEncoder(a.orders).Encode(order) })
}

// hear takes the answer to an order.
func (a *actor) hear(order []string) (string, error) {
	select {
	case got, ok := <-a.answers:
		switch {
		case !ok:
			return "", fmt.Errorf("%v: the process %d has ended", order, a.pid)
		case got.Error != "":
			return got.Text, &orderError{got, order}
		}
		return got.Text, nil
	case <-a.b.ctx.Done():
		return "", fmt.Errorf("%v: no answer of process %d: %w", order, a.pid, a.b.ctx.Err())
	}
}

// send gives an order and waits for the answer.
func (a *actor) send(order []string) (string, error) {
	if err := json.NewEncoder(a.orders).Encode(order); err != nil {
		return "", fmt.Errorf("%v: %w", order, err)
	}
	return a.hear(order)
}

// must gives an order that has to succeed, and returns what is answered.
func (a *actor) must(order ...string) (text string) {
	a.b.do(func() (err error) {
		text, err = a.send(order)
		return err
	})
	return text
}

// mustHear is must for an order that was told before.
func (a *actor) mustHear(order ...string) (text string) {
	a.b.do(func() (err error) {
		text, err = a.hear(order)
		return err
	})
	return text
}

// kill kills the actor and returns when it is dead; it stays a zombie until the end of the experiment.
func (a *actor) kill() { a.signal(syscall.SIGKILL, unix.WEXITED) }

// stop stops the actor as a hang does and returns when it stands still.
func (a *actor) stop() { a.signal(syscall.SIGSTOP, unix.WSTOPPED) }

// goOn lets a stopped actor go on.
func (a *actor) goOn() { a.b.do(func() error { return a.cmd.Process.Signal(syscall.SIGCONT) }) }

// signal sends sig and waits for what comes of it.
func (a *actor) signal(sig syscall.Signal, event int) {
	a.b.do(func() error {
		if err := a.cmd.Process.Signal(sig); err != nil {
			return err
		}
		for {
			err := unix.Waitid(unix.P_PID, a.pid, nil, event|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
}

// reap ends the actor and its zombie, and may be called again.
func (a *actor) reap() {
	if a.cmd == nil || a.cmd.ProcessState != nil {
		return
	}
	_ = a.cmd.Process.Kill() // it may be dead already
	a.orders.Close()
	for range a.answers { // Wait closes the pipe that listen reads
	}
	_ = a.cmd.Wait() // killed, as it was meant
}

// serve is the inside of an actor: it obeys orders until there are no more of them.
func serve() int {
	unix.CloseOnExec(lifeFD)
	unix.CloseOnExec(goneFD)
	s := newStage()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var order []string
		if in.Decode(&order) != nil {
			return 0
		}
		if out.Encode(s.obey(order)) != nil {
			return 1
		}
	}
}

func answerOf(text string, err error) answer {
	a := answer{Text: text}
	if err != nil {
		a.Error, a.Held = err.Error(), isHeld(err)
		errors.As(err, &a.Errno)
	}
	return a
}
