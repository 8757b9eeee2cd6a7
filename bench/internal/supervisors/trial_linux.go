package supervisors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/bench/internal/mark"
	"golang.org/x/sys/unix"
)

// startTime bounds how long a service may take to run, on a busy machine too.
const startTime = 20 * time.Second

// look is the pause between two looks at the processes.
const look = 20 * time.Millisecond

// trial is one supervisor with one service, alone in a directory.
type trial struct {
	plan plan
	dir  string
	mark string // of all its processes, without the role
	log  *os.File
	all  []*supervisor
}

// supervisor is one that was started.
type supervisor struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// begin sets a supervisor up in a new directory and starts nothing.
func (r *Rig) begin(k Kind, cycle time.Duration, words ...string) (*trial, error) {
	n := r.trials.Add(1)
	t := &trial{dir: filepath.Join(r.dir, fmt.Sprint("t", n)), mark: fmt.Sprintf("%s/%d", r.mark, n)}
	if err := os.Mkdir(t.dir, 0o700); err != nil {
		return nil, err
	}
	j := job{dir: t.dir, cycle: cycle}
	words = append(words, k.words...)
	if k.probed {
		var err error
		if j.port, err = freePort(); err != nil {
			return nil, err
		}
		words = append(words, fmt.Sprintf(wordHTTP, j.port))
	}
	j.service = append([]string{r.service, t.mark, roleService, t.starts()}, words...)
	var err error
	if t.plan, err = k.setup(j); err != nil {
		return nil, err
	}
	t.log, err = os.Create(filepath.Join(t.dir, "output"))
	return t, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (t *trial) starts() string { return filepath.Join(t.dir, "starts") }

// command is a program that carries the mark of a supervisor.
func (t *trial) command(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), mark.Var+"="+t.mark+"/"+roleSupervisor)
	cmd.Stdout, cmd.Stderr = t.log, t.log
	return cmd
}

// launch starts n supervisors in the same instant, each in a session of its own.
func (t *trial) launch(n int) error {
	begin, errs := make(chan struct{}), make(chan error)
	for range n {
		s := &supervisor{cmd: t.command(context.Background(), t.plan.args), ended: make(chan struct{})}
		s.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
		t.all = append(t.all, s)
		go func() {
			<-begin
			err := s.cmd.Start()
			errs <- err
			if err == nil {
				s.cmd.Wait()
			}
			close(s.ended)
		}()
	}
	close(begin)
	var err error
	for range n {
		err = errors.Join(err, <-errs)
	}
	return err
}

// last is the supervisor that was started last.
func (t *trial) last() *supervisor { return t.all[len(t.all)-1] }

func (s *supervisor) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// copies counts the processes of a role.
func (t *trial) copies(role string) int {
	pids, err := mark.Find(t.mark + "/" + role)
	if err != nil {
		return -1
	}
	return len(pids)
}

// running waits until the service runs, and its tree where it has one.
func (t *trial) running(ctx context.Context, roles ...string) error {
	started := func() bool {
		for _, role := range roles {
			if t.copies(role) != 1 {
				return false
			}
		}
		return len(t.told()) > 0
	}
	if !until(ctx, startTime, started) {
		return fmt.Errorf("the service did not start: %s", t.said())
	}
	return ctx.Err()
}

// start launches one supervisor and waits for its service.
func (t *trial) start(ctx context.Context, roles ...string) error {
	if err := t.launch(1); err != nil {
		return err
	}
	return t.running(ctx, append(roles, roleService)...)
}

// said is the end of what the supervisor printed.
func (t *trial) said() string {
	text, _ := os.ReadFile(t.log.Name())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// born is a start that the service told of.
type born struct {
	pid int
	at  int64 // CLOCK_MONOTONIC in ns
}

// told returns all starts.
func (t *trial) told() (all []born) {
	text, _ := os.ReadFile(t.starts())
	for line := range strings.Lines(string(text)) {
		pid, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		b := born{}
		b.pid, _ = strconv.Atoi(pid)
		b.at, _ = strconv.ParseInt(at, 10, 64)
		if strings.HasSuffix(line, "\n") {
			all = append(all, b)
		}
	}
	return all
}

// stop tells the supervisor to stop in its normal way, and returns how long it
// took until no service lived and the supervisor had ended.
func (t *trial) stop(ctx context.Context, bound time.Duration) (took time.Duration, ended bool, err error) {
	s, begin := t.last(), time.Now()
	if t.plan.stop == nil {
		err = s.cmd.Process.Signal(unix.SIGTERM)
	} else {
		ctx, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		err = t.command(ctx, t.plan.stop).Run()
	}
	if err != nil {
		return 0, false, fmt.Errorf("it cannot be told to stop: %w: %s", err, t.said())
	}
	ended = until(ctx, bound, func() bool { return (t.plan.stays || s.hasEnded()) && t.copies(roleService) == 0 })
	return time.Since(begin), ended, ctx.Err()
}

// end kills all that is left of the trial, and waits for what was started here.
func (t *trial) end() error {
	err := mark.End(t.mark)
	for _, s := range t.all {
		if s.cmd.Process != nil {
			s.cmd.Process.Kill() // nothing new, unless it had put its mark off
		}
		<-s.ended
	}
	t.log.Close()
	return errors.Join(err, os.RemoveAll(t.dir))
}

// until waits for a condition, at most for bound.
func until(ctx context.Context, bound time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(bound); !ok(); pause(ctx, look) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return false
		}
	}
	return true
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// freeze stops the service's process with SIGSTOP. It returns when the process has
// stopped: a signal that comes before would be taken first.
func (t *trial) freeze(ctx context.Context) error {
	all := t.told()
	pid := all[len(all)-1].pid
	if err := mark.Signal(pid, t.mark+"/"+roleService, unix.SIGSTOP); err != nil {
		return err
	}
	stopped := func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return strings.Contains(string(text), ") T ")
	}
	if !until(ctx, startTime, stopped) {
		return fmt.Errorf("process %d does not stop on SIGSTOP", pid)
	}
	return nil
}
