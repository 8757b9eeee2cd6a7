package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

func eagain() Experiment {
	const (
		errno  = "errno of the refused try"
		usual  = "exit code of a program that returns the error"
		wanted = "exit code of a program that exits with the errno on purpose"
		tool   = "exit code of util-linux flock -n"
	)
	return Experiment{
		Name:     "eagain",
		Title:    "EAGAIN means exit code 11",
		Believed: "A program that cannot get the lock ends with exit code 11, since EAGAIN is 11; so scripts and units may test for 11.",
		Happens: "The errno of a system call and the exit code of a process have nothing to do with each other. A program that returns the error ends with 1, as " +
			"for every other error, unless its author chose a code.",
		Advice: "Look into the manual of the program, or choose the code: flock -E N, solehold run --held-exit N (75, EX_TEMPFAIL, fits, and " +
			"systemd's RestartPreventExitStatus= knows what to do with it).",
		Facts: []Fact{{errno, "11"}, {usual, "1"}, {wanted, "11"}, {tool, ""}},
		run: func(b *bench) {
			owner, second := b.actor(), b.actor()
			lock := b.path("lock")
			owner.must("hold", lock)
			b.do(func() error {
				_, err := second.send([]string{"hold", lock})
				var e unix.Errno
				errors.As(err, &e)
				b.got[errno] = strconv.Itoa(int(e))
				return nil
			})
			how := "errno"
			b.decisive(func() { how = "error" })
			b.see(usual, b.exits("try", how, lock))
			b.see(wanted, b.exits("try", "errno", lock))
			b.see(tool, b.exitOfFlock(lock))
		},
	}
}

// exits runs a role and gives its exit code.
func (b *bench) exits(role ...string) (code int) {
	b.do(func() error {
		cmd, err := self(b.ctx, role...)
		if err != nil {
			return err
		}
		code, err = exitCode(cmd)
		return err
	})
	return code
}

func (b *bench) exitOfFlock(lock string) (code string) {
	if _, err := exec.LookPath("flock"); err != nil {
		return "not installed here"
	}
	b.do(func() error {
		n, err := exitCode(exec.CommandContext(b.ctx, "flock", "-n", lock, "true"))
		code = strconv.Itoa(n)
		return err
	})
	return code
}

// tryAndExit is a program that wants a lock and does not get it.
func tryAndExit(how, path string) int {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		defer f.Close()
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	var errno unix.Errno
	switch {
	case err == nil:
		return 0
	case how == "errno" && errors.As(err, &errno):
		return int(errno)
	}
	fmt.Println("lock:", err) // to nobody: this is what log.Fatal and set -e do
	return 1
}
