package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// OutputLimit is how much of a command's output is kept: the first 4096 bytes, as by Docker. The rest is read and
// dropped, so that the command never waits for a reader.
const OutputLimit = 4096

// ErrBusy says that a command or a look at a file was given up because the kernel does not let it end, or that an earlier
// one still hangs there.
var ErrBusy = errors.New("stuck in the kernel: it could not be ended")

// Exit is how a command ended.
type Exit struct {
	// Code is its exit code where it exited by itself.
	Code int
	// Signal is what killed it, or 0.
	Signal syscall.Signal
	// Output is the start of its standard output and error, at most [OutputLimit] bytes.
	Output []byte
}

// Runner runs a command for [Exec]. A program that has one reaper for all its children gives its own.
type Runner interface {
	// Run runs argv, whose first word is the path of the program, with the environment env, in a process group of its
	// own and without input. It returns when the program has ended and the others of the group are killed. When ctx is
	// done it kills the whole group and returns soon. An error means that the program was not started, or that its end
	// is not known; a program that ended badly is no error.
	Run(ctx context.Context, argv, env []string) (Exit, error)
}

// ExecOptions are the choices of [Exec]. The zero value is good.
type ExecOptions struct {
	// Env is the environment, or nil for that of this process at the time of each check.
	Env []string
	// Extra is added to the environment; of two values for one name the last counts.
	Extra []string
	// UnknownCodes are exit codes by which the command says that it could not ask.
	UnknownCodes []int
	// Runner runs the command, or nil for one that uses os/exec. That one must wait for its child itself: it is not for
	// programs that reap all children in one place.
	Runner Runner
}

// execProbe runs a command.
type execProbe struct {
	argv []string
	opts ExecOptions
}

// Exec gives a probe that runs a command: exit code 0 is good, every other end is a failure. The command has its own
// process group, which is killed whole at the deadline and also when the command ends before its children. A process
// that leaves the group is the caller's to find. On Windows only the command itself is killed.
//
// The error says that argv is empty or that there is no such program that can be run. A program that vanishes later
// makes the verdict [Unknown].
func Exec(argv []string, opts ExecOptions) (Probe, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, wrong("", "no command")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, &TargetError{argv[0], noProgram(err)}
	}
	for _, word := range slices.Concat(argv, opts.Env, opts.Extra) {
		if strings.Contains(word, "\x00") {
			return nil, wrong(argv[0], "command or environment contains a null byte")
		}
	}
	if opts.Runner == nil {
		opts.Runner = &groupRunner{}
	}
	return &execProbe{append([]string{path}, argv[1:]...), opts}, nil
}

func noProgram(err error) error {
	var look *exec.Error
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("no such program: %w", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("not executable: %w", err)
	case errors.As(err, &look):
		return look.Err
	}
	return err
}

// Check runs the command once.
func (p *execProbe) Check(ctx context.Context) Result {
	c, cancel := begin(ctx)
	defer cancel()
	env := p.opts.Env
	if env == nil {
		env = os.Environ()
	}
	exit, err := p.opts.Runner.Run(c.ctx, p.argv, slices.Concat(env, p.opts.Extra))
	said := firstLine(exit.Output)
	switch {
	case err == nil && exit.Signal == 0 && exit.Code == 0:
		return c.end(OK, "%s", after("exit code 0", said))
	case errors.Is(c.ctx.Err(), context.Canceled):
		return c.end(Unknown, "the check was cancelled")
	case errors.Is(err, ErrBusy):
		return c.end(Unknown, "%v", ErrBusy)
	case err == nil && c.ctx.Err() != nil:
		return c.end(Fail, "%s", after("no end within "+short(c.limit), said))
	case err != nil:
		return c.end(Unknown, "the command cannot be run: %s", words(err))
	case exit.Signal != 0:
		return c.end(Fail, "%s", after("killed by "+exit.Signal.String(), said))
	case slices.Contains(p.opts.UnknownCodes, exit.Code):
		return c.end(Unknown, "%s", after(fmt.Sprintf("exit code %d", exit.Code), said))
	}
	return c.end(Fail, "%s", after(fmt.Sprintf("exit code %d", exit.Code), said))
}

// String gives for example "exec /bin/check now". Arguments may hold secrets, but not more than the process list shows.
func (p *execProbe) String() string { return Line("exec " + strings.Join(p.argv, " ")) }
