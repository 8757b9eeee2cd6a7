//go:build !solehold_portable

package supervise_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// order is what a test tells the shell.
type order struct {
	Do         string   // run, fg, front, bg
	Args       []string // of run
	Background bool
	Quiet      bool // run with all standard files elsewhere
}

// news is what the shell says of its job.
type news struct {
	What   string // started, stopped, continued, ended
	PID    int    // of the job, which is its group too
	Signal int    // that stopped or killed it
	Code   int
	Front  int // the group that had the terminal then
	Shell  int // the group of the shell
}

// jobs is a shell with job control (termios(3), "job control" of libc's manual):
// it leads the session of a terminal, gives that to its one job and takes it back
// when the job stops or ends.
type jobs struct {
	job int
	mu  sync.Mutex
	out *json.Encoder
}

func shell([]string) {
	// Caught, not ignored: what it starts must have the default handling.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTTIN, syscall.SIGTSTP, syscall.SIGINT, syscall.SIGQUIT)
	in := json.NewDecoder(os.NewFile(3, "orders"))
	j := &jobs{out: json.NewEncoder(os.NewFile(4, "news"))}
	unix.CloseRange(3, 4, unix.CLOSE_RANGE_CLOEXEC)
	for {
		var o order
		if in.Decode(&o) != nil {
			return
		}
		switch o.Do {
		case "run":
			j.run(o)
		case "fg":
			give(j.job)
			syscall.Kill(-j.job, syscall.SIGCONT)
		case "front": // as fg of a job that runs
			give(j.job)
		case "bg":
			syscall.Kill(-j.job, syscall.SIGCONT)
		}
	}
}

// give makes a group the one in front.
func give(group int) { unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group) }

func (j *jobs) run(o order) {
	cmd := exec.Command(o.Args[0], o.Args[1:]...)
	if !o.Quiet {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !o.Background {
		cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: 0}
		if o.Quiet {
			tty, _ := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 10)
			cmd.SysProcAttr.Ctty = tty
		}
	}
	err := cmd.Start()
	signal.Ignore(syscall.SIGTTOU) // the shell gives the terminal away, also from behind; its job has the default
	if err != nil {
		j.tell(news{What: err.Error()})
		return
	}
	j.job = cmd.Process.Pid
	j.tell(news{What: "started", PID: j.job})
	go j.watch(j.job)
}

func (j *jobs) watch(pid int) {
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED|syscall.WCONTINUED, nil); err != nil {
			return
		}
		n := news{PID: pid, Shell: unix.Getpgrp()}
		n.Front, _ = unix.IoctlGetInt(0, unix.TIOCGPGRP)
		switch {
		case ws.Continued():
			n.What = "continued"
		case ws.Stopped():
			n.What, n.Signal = "stopped", int(ws.StopSignal())
		case ws.Signaled():
			n.What, n.Signal = "ended", int(ws.Signal())
		default:
			n.What, n.Code = "ended", ws.ExitStatus()
		}
		if n.What != "continued" {
			give(unix.Getpgrp())
		}
		j.tell(n)
	}
}

func (j *jobs) tell(n news) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.out.Encode(n)
}

// console is a terminal with a person at it.
type console struct {
	*site
	master *os.File
	screen *screen
	shell  *running
	orders *json.Encoder
	news   chan news
}

// openTerminal makes a pseudo terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	must(t, err)
	t.Cleanup(func() { master.Close() })
	n := 0
	control(t, master, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	})
	slave, err = os.OpenFile("/dev/pts/"+itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	return master, slave
}

// control is for ioctl: File.Fd would make reads block, and Close wait for them.
func control(t *testing.T, f *os.File, do func(fd int) error) {
	t.Helper()
	conn, err := f.SyscallConn()
	must(t, err)
	var failed error
	must(t, conn.Control(func(fd uintptr) { failed = do(int(fd)) }))
	must(t, failed)
}

// newConsole starts a shell on a terminal, or another command as the leader of
// the terminal's session.
func newConsole(t *testing.T, leader ...string) *console {
	t.Helper()
	s := newSite(t)
	master, slave := openTerminal(t)
	defer slave.Close()
	ours, orders, err := os.Pipe()
	must(t, err)
	told, theirs, err := os.Pipe()
	must(t, err)
	c := &console{site: s, master: master, orders: json.NewEncoder(orders), news: make(chan news, 64)}
	c.screen = &screen{t: t, more: make(chan struct{})}
	go c.screen.read(master)
	if len(leader) == 0 {
		leader = []string{self(t), "shell"}
	}
	c.shell = s.start([]how{given(ours, theirs), func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	}}, leader[0], leader[1:]...)
	ours.Close()
	theirs.Close()
	t.Cleanup(func() { orders.Close(); told.Close() })
	go func() {
		for in := json.NewDecoder(told); ; {
			var n news
			if in.Decode(&n) != nil {
				return
			}
			c.news <- n
		}
	}()
	return c
}

// job starts a command, and returns its process.
func (c *console) job(o order) int {
	c.t.Helper()
	o.Do = "run"
	must(c.t, c.orders.Encode(o))
	return c.next("started").PID
}

// run starts a run of a shell script as a job.
func (c *console) run(script string) int {
	c.t.Helper()
	return c.job(order{Args: []string{tool, "run", "--grace", "2s", c.dir, "--", "sh", "-c", script}})
}

// tell gives an order.
func (c *console) tell(do string) {
	c.t.Helper()
	must(c.t, c.orders.Encode(order{Do: do}))
}

// next takes the next news, which has to be this.
func (c *console) next(what string) news {
	c.t.Helper()
	select {
	case n := <-c.news:
		if n.What != what {
			c.t.Fatalf("the shell says %+v, want %s; on the screen: %q", n, what, c.screen.text())
		}
		return n
	case <-time.After(patience):
		c.t.Fatalf("the shell does not say that the job has %s; on the screen: %q", what, c.screen.text())
		return news{}
	}
}

// typed sends keys.
func (c *console) typed(keys string) {
	c.t.Helper()
	_, err := c.master.WriteString(keys)
	must(c.t, err)
}

// front is the group that has the terminal.
func (c *console) front() (group int) {
	c.t.Helper()
	control(c.t, c.master, func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group
}

// command is the first process of the run in a job.
func (c *console) command(job int) int {
	c.t.Helper()
	pids := children(job)
	if len(pids) != 1 {
		c.t.Fatalf("children of %d: %v; on the screen: %q", job, pids, strings.TrimSpace(c.screen.text()))
	}
	return pids[0]
}

// released ends the shell and checks that nothing else is left.
func (c *console) released() {
	c.t.Helper()
	c.shell.kill()
	c.free()
}
