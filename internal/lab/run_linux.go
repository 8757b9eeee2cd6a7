package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs the experiment and judges it. It returns when nothing of it is left: processes, mounts, files.
func (e Experiment) Run(ctx context.Context) Result { return e.trial(ctx, true) }

// trial is Run; without the cause what makes the difference is left out.
func (e Experiment) trial(ctx context.Context, cause bool) Result {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var r report
	switch r.Missing = e.missing(); {
	case r.Missing != "":
	case e.apart != apartNot:
		r = e.runApart(ctx, cause)
	default:
		r = e.runIn(ctx, cause)
	}
	return e.judge(r, time.Since(begin))
}

// runApart runs e in a process with namespaces of its own. Who is not root is root there, and nowhere else.
func (e *Experiment) runApart(ctx context.Context, cause bool) (r report) {
	dir, err := os.MkdirTemp("", "solehold-lab-")
	if err != nil {
		return report{Error: err.Error()}
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil && r.Error == "" {
			r.Error = err.Error()
		}
	}()
	cmd, err := self(ctx, "inside", e.Name, strconv.FormatBool(cause))
	if err != nil {
		return report{Error: err.Error()}
	}
	var out, stderr bytes.Buffer
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = e.apart.namespaces()
	if err := cmd.Run(); err != nil {
		return report{Error: fmt.Sprintf("in namespaces of its own: %v: %s", err, stderr.Bytes())}
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return report{Error: fmt.Sprintf("in namespaces of its own: %v: %s", err, stderr.Bytes())}
	}
	return r
}

func (a apart) namespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if a == apartPIDs {
		attr.Cloneflags |= syscall.CLONE_NEWPID
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// needNamespaces is asked by trying.
func needNamespaces(a apart) need {
	return need{
		"the right to make namespaces: root, or user namespaces for everybody",
		"run it as root, or see the sysctls kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns",
		func() bool {
			cmd, err := self(context.Background(), "mounts")
			if err != nil {
				return false
			}
			cmd.SysProcAttr = a.namespaces()
			return cmd.Run() == nil
		},
	}
}

// ownMounts takes care that no mount of this process is seen by others.
func ownMounts() error { return unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }

// play is the inside of every process that this program starts of itself.
func play(args []string) int {
	switch words := append(args, "", "", ""); words[0] {
	case "actor":
		return serve()
	case "child":
		return inherited(words[1], words[2])
	case "mounts":
		return codeFor(ownMounts())
	case "family":
		return serviceWithChildren(words[1])
	case memberRole:
		return untilKilled()
	case "try":
		return tryAndExit(words[1], words[2])
	case "inside":
		return inside(words[1], words[2] == "true")
	default:
		return codeFor(fmt.Errorf("no role %q", words[0]))
	}
}

func codeFor(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	return 0
}

// inside runs an experiment in the namespaces that were made for it, and prints what it has seen.
func inside(name string, cause bool) int {
	e, ok := byName(All(), name)
	if !ok {
		return codeFor(fmt.Errorf("no experiment %q", name))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := ownMounts(); err != nil {
		return codeFor(err)
	}
	if e.apart == apartPIDs {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			return codeFor(fmt.Errorf("mount /proc: %w", err))
		}
	}
	return codeFor(json.NewEncoder(os.Stdout).Encode(e.runIn(ctx, cause)))
}

// mount mounts something on a directory of the experiment until its end. What the kernel does not let us mount is missing.
func (b *bench) mount(kind, dir, data string) {
	b.do(func() error {
		err := unix.Mount(kind, dir, kind, 0, data)
		switch {
		case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EINVAL):
			return &missingError{fmt.Sprintf("a %s mount, which the kernel refuses here (%v)", kind, err), "run it as root on Linux 5.11 or later"}
		case err != nil:
			return fmt.Errorf("mount %s on %s: %w", kind, dir, err)
		}
		b.mounts = append(b.mounts, dir)
		return nil
	})
}

func (b *bench) unmount() error {
	var all error
	for i := len(b.mounts) - 1; i >= 0; i-- {
		all = errors.Join(all, unix.Unmount(b.mounts[i], unix.MNT_DETACH))
	}
	return all
}

// exitCode is the code of a command that has run.
func exitCode(cmd *exec.Cmd) (int, error) {
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return ended.ExitCode(), nil
	}
	return 0, err
}
