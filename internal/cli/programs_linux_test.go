package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/supervise"
	"golang.org/x/sys/unix"
)

// patience bounds every wait for something that has to happen.
const patience = 20 * time.Second

// programs are what scripts run beside solehold. Each takes its arguments and
// returns an exit code.
func programs() map[string]func([]string) int {
	return map[string]func([]string) int{
		"exits":   exits,
		"within":  within,
		"await":   await,
		"freeze":  freeze,
		"saying":  saying,
		"ended":   ended,
		"waits":   waits,
		"apart":   apart,
		"shell":   shell,
		"nobody":  nobody,
		"failing": failing,
		"forge":   forge,
		"hung":    hung,
		"squat":   squat,
	}
}

func complain(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return 1
}

// become turns this process into a command.
func become(command []string) int {
	path, err := exec.LookPath(command[0])
	if err == nil {
		err = syscall.Exec(path, command, os.Environ())
	}
	return complain("%s: %v", command[0], err)
}

// child is a command that dies with this process.
func child(command []string) *exec.Cmd {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// exits runs a command that has to end in one way: exits CODE|SIGNAL COMMAND...
func exits(args []string) int {
	cmd := child(args[1:])
	if err := cmd.Run(); cmd.ProcessState == nil {
		return complain("exits: %v", err)
	}
	got := strconv.Itoa(cmd.ProcessState.ExitCode())
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		got = supervise.SignalName(status.Signal())
	}
	if got != args[0] {
		return complain("exits: %q ended with %s, not %s", args[1:], got, args[0])
	}
	return 0
}

// within runs a command that may not take longer, or shorter:
// within MOST COMMAND... or within LEAST..MOST COMMAND...
func within(args []string) int {
	low, high, ranged := strings.Cut(args[0], "..")
	if !ranged {
		low, high = "0s", args[0]
	}
	least, err1 := time.ParseDuration(low)
	most, err2 := time.ParseDuration(high)
	if err := errors.Join(err1, err2); err != nil {
		return complain("within: %v", err)
	}
	begin := time.Now()
	cmd := child(args[1:])
	if err := cmd.Run(); cmd.ProcessState == nil {
		return complain("within: %v", err)
	}
	if took := time.Since(begin); took < least || took > most {
		return complain("within: %q took %s, not %s", args[1:], took, args[0])
	}
	return cmd.ProcessState.ExitCode()
}

// eventually polls what tells no event.
func eventually(ok func() bool) bool {
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if ok() {
			return true
		}
	}
	return false
}

// freeze stops a process and waits until each of its threads has stopped: after
// kill alone they run on for a moment.
func freeze(args []string) int {
	pid, err := strconv.Atoi(args[0])
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGSTOP)
	}
	if err != nil {
		return complain("freeze: %v", err)
	}
	if !eventually(func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		return err == nil && len(threads) > 0 && !slices.ContainsFunc(threads, func(path string) bool {
			text, _ := os.ReadFile(path)
			_, state, _ := strings.Cut(string(text), ") ")
			return state != "" && state[0] != 'T'
		})
	}) {
		return complain("freeze: %d does not stop", pid)
	}
	return 0
}

// await waits for a state of a directory, and until its report in JSON has all
// the texts: await DIR STATE [TEXT...]
func await(args []string) int {
	var last []byte
	if eventually(func() bool {
		r := diagnose.Status(context.Background(), args[0], nil)
		last, _ = json.Marshal(r)
		for _, text := range args[2:] {
			if !strings.Contains(string(last), text) {
				return false
			}
		}
		return string(r.State) == args[1]
	}) {
		return 0
	}
	return complain("await: %q did not come true; it is %s", args, last)
}

// saying waits until a file has a text: saying FILE TEXT
func saying(args []string) int {
	var last []byte
	if eventually(func() bool {
		last, _ = os.ReadFile(args[0])
		return strings.Contains(string(last), args[1])
	}) {
		return 0
	}
	return complain("saying: %s does not have %q: %s", args[0], args[1], last)
}

// waits waits until somebody waits for a lock of a file: waits FILE
func waits(args []string) int {
	var st unix.Stat_t
	if err := unix.Stat(args[0], &st); err != nil {
		return complain("waits: %v", err)
	}
	if eventually(func() bool {
		rows, _ := procfs.Default().Locks()
		return slices.ContainsFunc(rows, func(l procfs.Lock) bool { return l.Waiting && l.Inode == st.Ino })
	}) {
		return 0
	}
	return complain("waits: nobody waits for %s", args[0])
}

// ended waits until processes are gone, or have at least exited: ended PID...
func ended(args []string) int {
	for _, arg := range args {
		pid, err := strconv.Atoi(arg)
		if err != nil {
			return complain("ended: %v", err)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ESRCH {
			continue
		}
		if err != nil {
			return complain("ended: %v", err)
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, int(patience.Milliseconds())); n == 0 || err != nil {
			return complain("ended: pid %d lives: %v", pid, err)
		}
		unix.Close(fd)
	}
	return 0
}

// apart runs a command as pid 1 of pid and mount namespaces of its own, and
// everything in them dies with it: apart COMMAND...
func apart(args []string) int {
	cmd := child(append([]string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"}, args...))
	if err := cmd.Run(); cmd.ProcessState == nil {
		return complain("apart: %v", err)
	}
	return cmd.ProcessState.ExitCode()
}

// shell runs a shell script to its end or first failure, and then kills what the
// script has left running: shell FILE [ARGUMENT...]
func shell(args []string) int {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	cmd := child(append([]string{"sh", "-eux"}, args...))
	if err := cmd.Run(); cmd.ProcessState == nil {
		return complain("shell: %v", err)
	}
	for {
		children, err := procfs.Default().Children(0)
		for _, pid := range children {
			unix.Kill(pid, unix.SIGKILL)
		}
		if _, waitErr := unix.Wait4(-1, nil, 0, nil); waitErr == unix.ECHILD || err != nil {
			return cmd.ProcessState.ExitCode()
		}
	}
}

// nobody runs a command as the user 65534: nobody COMMAND...
func nobody(args []string) int {
	const uid = 65534
	err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid))
	if err != nil {
		return complain("nobody: %v", err)
	}
	return become(args)
}
