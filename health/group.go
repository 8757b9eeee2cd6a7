package health

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

const (
	drainTime = 150 * time.Millisecond // for the last output, where a process outside the group holds the pipe
	killTime  = 300 * time.Millisecond // for the end of what was killed
)

// groupRunner is the Runner on os/exec.
type groupRunner struct{ stuck stuck }

// Run runs the command and waits for it at most killTime longer than ctx lasts.
func (r *groupRunner) Run(ctx context.Context, argv, env []string) (Exit, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	out := &head{}
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, out, out, drainTime
	ownGroup(cmd)
	return waited(ctx, &r.stuck, func() (Exit, error) {
		if err := runGroup(ctx, cmd); err != nil {
			return Exit{}, err
		}
		return Exit{Code: cmd.ProcessState.ExitCode(), Signal: killedBy(cmd.ProcessState), Output: out.kept}, nil
	})
}

// runGroup starts the command, kills its group when ctx is done, and once more when the command has ended: as long as it
// is not reaped its number cannot mean another group.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g := &group{process: cmd.Process}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { g.kill(); close(over) })
	if awaitExit(cmd.Process.Pid) {
		g.kill()
		g.forget()
	}
	err := cmd.Wait()
	g.forget()
	if !stop() {
		<-over
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// group is a process group whose first process is not reaped, until it is forgotten.
type group struct {
	mu      sync.Mutex
	process *os.Process // nil when forgotten
}

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		killGroup(g.process)
	}
}

func (g *group) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.process = nil
}

// stuck counts what the kernel has not given back.
type stuck struct{ n atomic.Int32 }

// waited does what may hang in the kernel: it waits for do, at most killTime longer than ctx lasts, and then gives
// [ErrBusy] and leaves do to itself. Until that do is back it gives ErrBusy at once.
func waited[T any](ctx context.Context, s *stuck, do func() (T, error)) (value T, err error) {
	if s.n.Load() > 0 {
		return value, ErrBusy
	}
	var settled atomic.Bool // by the end of do, or by giving it up
	done := make(chan struct{})
	var got T
	var gotErr error
	go func() {
		got, gotErr = do()
		if !settled.CompareAndSwap(false, true) {
			s.n.Add(-1)
		}
		close(done)
	}()
	select {
	case <-done:
		return got, gotErr
	case <-ctx.Done():
	}
	late := time.NewTimer(killTime)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		s.n.Add(1)
		if settled.CompareAndSwap(false, true) {
			return value, ErrBusy
		}
		s.n.Add(-1)
		<-done
	}
	return got, gotErr
}

// head keeps the start of what is written.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), OutputLimit-len(h.kept))]...)
	return len(p), nil
}
