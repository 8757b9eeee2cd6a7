package drill

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/procfs"
)

// The descriptors that a cradle is born with.
const (
	controlFD = 3
	gateFD    = 4
)

// cradle is the process below which one start lives. It adopts what the command leaves behind, so that all of it is
// found below; it is told what to do, and tells what happened. It ends with the drill, and its processes with it.
type cradle struct {
	tell  *json.Encoder
	proc  procfs.FS
	place place
	next  order      // is armed
	first int        // the command's first process; 0 before, and after its end
	alive bool       // the command has been started, and something of it may live
	gate  chan error // the gate has opened for this one
}

// Cradle is what a process called with CradleVerb does: args are what follows the verb. It returns the exit code.
func Cradle(args []string) int {
	// Namespaces belong to a thread until a child is born from it: everything happens on this one.
	runtime.LockOSThread()
	// A terminal's keys, and who ends the drill by its group, must not end this first: it has to clean up. They are heard,
	// for what is ignored would be ignored by the command as well.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	unix.CloseOnExec(controlFD)
	unix.CloseOnExec(gateFD)
	control := os.NewFile(controlFD, "control")
	c := &cradle{tell: json.NewEncoder(control), gate: make(chan error, 1)}
	if err := c.settle(args); err != nil {
		c.say(news{What: "failed", Error: err.Error()})
		return 1
	}
	c.proc = procfs.Default()
	device, err := deviceOf(c.place.Data)
	if err == nil && c.place.Join != 0 && device != c.place.Device {
		err = fmt.Errorf("%s is another file system here than where it should be shared", c.place.Data)
	}
	if err != nil {
		c.say(news{What: "failed", Error: err.Error()})
		return 1
	}
	// The thread is the one with the mounts: this process may have begun on another.
	c.say(news{What: "ready", PID: unix.Gettid(), Device: device})
	c.live(json.NewDecoder(control))
	c.sweep()
	return 0
}

func deviceOf(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	if err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return uint64(st.Dev), nil
}

// settle makes this process the adopter of all below it, and moves to its place.
func (c *cradle) settle(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s is for the drill's own use", CradleVerb)
	}
	if err := json.Unmarshal([]byte(args[0]), &c.place); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	return c.place.enter()
}

// say tells the drill; where that is gone, the end of the orders says so too.
func (c *cradle) say(n news) { c.tell.Encode(n) }

// live does what it is told until the drill is gone.
func (c *cradle) live(control *json.Decoder) {
	orders := make(chan order)
	go func() {
		defer close(orders)
		for {
			var o order
			if control.Decode(&o) != nil {
				return
			}
			orders <- o
		}
	}()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	for {
		select {
		case o, ok := <-orders:
			if !ok {
				return
			}
			c.obey(o)
		case err := <-c.gate:
			c.start(err)
		case <-ended:
			c.reap()
		}
	}
}

func (c *cradle) obey(o order) {
	if o.Do == "arm" {
		c.next = o
		go func() { c.gate <- passGate() }()
		c.say(news{What: "armed"})
		return
	}
	if err := c.do(o); err != nil {
		c.say(news{What: "done", Error: err.Error()})
		return
	}
	c.say(news{What: "done"})
}

// do does what changes the place, and refuses what would reach the whole machine.
func (c *cradle) do(o order) error {
	own, act := c.place.private(), func() error { return c.place.change(o.Do) }
	switch o.Do {
	case "occupy":
		own, act = c.place.Boot != "", func() error { return c.occupy(o.PID) }
	case "engine":
		own, act = c.place.Switch, func() error { return c.engine(o) }
	case "plug", "cut", "heal":
		own, act = c.place.Switch, func() error { return wire(o) }
	case "address":
		own, act = c.place.Wire, func() error { return wire(o) }
	}
	if !own {
		return fmt.Errorf("%s: this place is shared with the whole machine", o.Do)
	}
	return act()
}

// passGate waits until the drill opens the gate for as many as are armed.
func passGate() error {
	var one [8]byte
	for {
		_, err := unix.Read(gateFD, one[:])
		if err != unix.EINTR {
			return err
		}
	}
}

// start starts the command: in a session of its own, without a terminal, its output in a file.
func (c *cradle) start(err error) {
	if err == nil {
		c.first, err = c.fork(c.next)
	}
	if err != nil {
		c.say(news{What: "failed", Error: err.Error()})
		return
	}
	c.alive = true
	c.say(news{What: "started", PID: c.first})
}

func (c *cradle) fork(o order) (int, error) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(o.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if c.place.Boot != "" {
		if err := c.nextPID(firstPID); err != nil {
			return 0, err
		}
	}
	pid, err := syscall.ForkExec(o.Argv[0], o.Argv, &syscall.ProcAttr{
		Env: o.Env, Files: []uintptr{in.Fd(), out.Fd(), out.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", o.Argv[0], err)
	}
	return pid, nil
}

// reap takes note of every process that has ended, and tells once when the last one has: a late word of an earlier start
// would be taken for the end of the next one.
func (c *cradle) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.ECHILD:
			if c.alive {
				c.alive = false
				c.say(news{What: "empty"})
			}
			return
		case err != nil || pid == 0:
			return
		case pid == c.first:
			c.first = 0
			n := news{What: "exited", PID: pid, Code: status.ExitStatus()}
			if status.Signaled() {
				n.Code, n.Signal = 0, int(status.Signal())
			}
			c.say(n)
		}
	}
}

// sweep ends everything that is left, since nobody else would.
func (c *cradle) sweep() {
	for range 100 {
		endAll(below(c.proc, os.Getpid()))
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if err == syscall.ECHILD {
				return
			}
			if err != syscall.EINTR && (err != nil || pid == 0) {
				break
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// firstPID is the least number that a command gets in a boot of its own: those below are for the cradle's threads, which
// cannot be had again by others after a reboot.
const firstPID = 300

// occupy starts a process that has nothing to do with the command under a pid that was the command's. Another may be born
// meanwhile and take the number: then it is tried again.
func (c *cradle) occupy(pid int) error {
	const tries = 50
	self, err := os.Executable()
	if err != nil {
		return err
	}
	haveThreads()
	got := 0
	for range tries {
		if taken, _ := filepath.Glob(fmt.Sprintf("/proc/[0-9]*/task/%d", pid)); len(taken) > 0 && taken[0] != fmt.Sprintf("/proc/%d/task/%d", pid, pid) {
			return nil // a thread has it, of this process or a bystander, and keeps it: it answers signals as a process would
		}
		if err := c.nextPID(pid); err != nil {
			return err
		}
		got, err = syscall.ForkExec(self, []string{self, BystanderVerb}, &syscall.ProcAttr{
			Env: []string{}, Files: []uintptr{gateFD}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil || got == pid {
			return err
		}
		unix.Kill(got, unix.SIGKILL) // our child, which nobody else collects
		syscall.Wait4(got, nil, 0, nil)
	}
	return fmt.Errorf("pid %d could not be had, %d came", pid, got)
}

// nextPID makes the kernel begin its search for the next number at pid, in this namespace.
func (c *cradle) nextPID(pid int) error {
	return os.WriteFile("/proc/sys/kernel/ns_last_pid", fmt.Append(nil, pid-1), 0)
}

// haveThreads lets Go make the threads that it will want: each takes a number.
func haveThreads() {
	pause := unix.NsecToTimespec(int64(5 * time.Millisecond))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			unix.Nanosleep(&pause, nil)
		})
	}
	all.Wait()
}

// Bystander waits until it is ended, as a program would that knows nothing of all this: in a session of its own.
func Bystander() int {
	unix.Setsid() // it may have one
	for {
		unix.Pause()
	}
}
