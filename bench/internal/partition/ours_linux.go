package partition

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/cluster"
	"golang.org/x/sys/unix"
)

// ours is `solehold run --cluster` with a command that ignores SIGTERM.
func (r Rig) ours(engine string) side {
	return side{name: "solehold run --cluster", runs: true, trial: func(ctx context.Context, t trial) (outcome, error) {
		h, err := r.hold(ctx, engine, t)
		if err != nil {
			return outcome{}, err
		}
		defer h.end()
		return h.cutOff(ctx, url(engine, t.server, t.ttl))
	}}
}

// holder is one run.
type holder struct {
	trial
	cmd    *exec.Cmd
	pidfd  int
	told   chan int64
	ended  chan struct{}
	stderr bytes.Buffer
}

// hold starts a run and returns when its command works.
func (r Rig) hold(ctx context.Context, engine string, t trial) (*holder, error) {
	dir, err := os.MkdirTemp(t.dir, "data")
	if err != nil {
		return nil, err
	}
	work, err := helper.Command("work")
	if err != nil {
		return nil, err
	}
	h := &holder{trial: t, pidfd: -1, told: make(chan int64, 1), ended: make(chan struct{})}
	args := append([]string{"run", "--cluster", url(engine, t.wire.Addr(), t.ttl), "--cluster-name", t.lock, "--timeout", "1m", dir, "--"}, work.Args...)
	h.cmd = exec.CommandContext(ctx, r.Solehold, args...)
	h.cmd.Stderr, h.cmd.WaitDelay = &h.stderr, time.Second
	h.cmd.Cancel = func() error { return h.cmd.Process.Signal(unix.SIGTERM) }
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	pids := make(chan int, 1)
	go h.listen(out, pids)
	select {
	case pid := <-pids:
		h.pidfd, err = unix.PidfdOpen(pid, 0)
	case <-h.ended:
		err = fmt.Errorf("the run has ended: %s", &h.stderr)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// listen reads what the command says, to its end.
func (h *holder) listen(out io.Reader, pids chan<- int) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var word string
		var n int64
		fmt.Sscan(lines.Text(), &word, &n)
		if word == helper.WordPID {
			pids <- int(n)
			continue
		}
		select {
		case h.told <- n: // the first time counts
		default:
		}
	}
	h.cmd.Wait()
	close(h.ended)
}

// dies gives when the death of the command is seen, which is not before it.
func (h *holder) dies() <-chan int64 {
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(h.pidfd), Events: unix.POLLIN}}, -1); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return first(dead)
}

// cutOff lets another one wait for the lock, and cuts the holder off.
func (h *holder) cutOff(ctx context.Context, direct string) (outcome, error) {
	b, o, err := open(direct)
	if err != nil {
		return outcome{}, err
	}
	client, err := cluster.New(b, o)
	if err != nil {
		return outcome{}, err
	}
	defer client.Close(context.WithoutCancel(ctx))
	waits, given := make(chan struct{}, 1), make(chan int64, 1)
	owned := make(chan int64, 1)
	failed := make(chan error, 1)
	go func() {
		l, err := client.Acquire(ctx, h.lock, cluster.AcquireOptions{
			Wait: true,
			OnWait: func(*cluster.HeldError) {
				select {
				case waits <- struct{}{}:
				default:
				}
			},
			OnDelay: func(time.Duration) { given <- helper.Now() },
		})
		if err != nil {
			failed <- err
			return
		}
		owned <- helper.Now()
		l.Release(ctx)
	}()
	select {
	case <-waits:
	case err := <-failed:
		return outcome{}, err
	case <-ctx.Done():
		return outcome{}, context.Cause(ctx)
	}
	dead := h.dies()
	h.cut()
	var out outcome
	for what, c := range map[string]struct {
		from <-chan int64
		to   *int64
	}{"told": {h.told, &out.told}, "dead": {dead, &out.dead}, "granted to the next": {given, &out.given}, "the next works": {owned, &out.owned}} {
		var e error
		*c.to, e = await(ctx, what, c.from)
		err = errors.Join(err, e)
	}
	return out, err
}

// end ends the run and what is left of it.
func (h *holder) end() {
	h.wire.Heal()
	h.cmd.Process.Signal(unix.SIGTERM)
	select {
	case <-h.ended:
	case <-time.After(h.ttl + 10*time.Second):
		h.cmd.Process.Kill()
	}
	if h.pidfd >= 0 {
		unix.PidfdSendSignal(h.pidfd, unix.SIGKILL, nil, 0) // where all else has failed
		unix.Close(h.pidfd)
	}
}
