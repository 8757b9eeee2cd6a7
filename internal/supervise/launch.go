package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// launchLimit is how long a launched run may take to say how it went: it may
	// have to read a slow disk, but it does not wait for the directory.
	launchLimit = 30 * time.Second
	// unitLimit is how long the service manager may take to queue a job.
	unitLimit = 30 * time.Second
)

// launched is how a launch went.
type launched struct {
	pid  int
	held bool
	err  error
}

// launch starts the command through `solehold run` in a session of its own, or
// the unit. It returns when that has begun, or has come to nothing.
func (w Watch) launch(ctx context.Context) launched {
	if w.Unit != "" {
		return launched{err: systemctl(ctx, unitLimit, "start", "--no-block", w.Unit)}
	}
	cmd, said, err := w.start()
	if err != nil {
		return launched{err: err}
	}
	go cmd.Wait() // it may outlive us
	text, answered := within(launchLimit, func() []byte {
		const most = 4096
		defer said.Close()
		text, _ := io.ReadAll(io.LimitReader(said, most))
		return text
	})
	l := launched{pid: cmd.Process.Pid}
	switch word := string(text); {
	case word == startedWord:
	case strings.HasPrefix(word, refusedWord):
		l.held, l.err = true, errors.New(strings.TrimPrefix(word, refusedWord))
	case strings.HasPrefix(word, failedWord):
		l.err = errors.New(strings.TrimPrefix(word, failedWord))
	case !answered:
		l.err = fmt.Errorf("solehold run, pid %d, did not say within %s whether it started", l.pid, launchLimit)
	default:
		l.err = fmt.Errorf("solehold run, pid %d, ended before it started anything", l.pid)
	}
	return l
}

// start begins the run; said is where it tells how that went.
func (w Watch) start() (cmd *exec.Cmd, said *os.File, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	said, tell, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer tell.Close()
	cmd = exec.Command(self)
	fd := detach(cmd, tell)
	cmd.Args = append(cmd.Args, append([]string{w.Launch[0], fmt.Sprintf("--started-fd=%d", fd)}, w.Launch[1:]...)...)
	f, err := w.openLog()
	if err != nil {
		said.Close()
		return nil, nil, err
	}
	if f != nil {
		defer f.Close()
		cmd.Stdout, cmd.Stderr = f, f
	}
	if err := cmd.Start(); err != nil {
		said.Close()
		return nil, nil, err
	}
	return cmd, said, nil
}

// openLog opens the file for the output; nil where none is wanted. A fifo would
// wait for its reader.
func (w Watch) openLog() (*os.File, error) {
	if w.LogFile == "" {
		return nil, nil
	}
	return os.OpenFile(w.LogFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unblocking, 0o640)
}

// systemctl asks the service manager.
func systemctl(ctx context.Context, limit time.Duration, words ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", words...).CombinedOutput()
	if err == nil {
		return nil
	}
	if said := strings.TrimSpace(string(out)); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	return fmt.Errorf("systemctl %s: %w", strings.Join(words, " "), err)
}
