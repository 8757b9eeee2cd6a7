package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/solehold/solehold"
	"golang.org/x/sys/unix"
)

func pidReuse() Experiment {
	const (
		alive  = "kill -0 of the pid in the file says"
		same   = "the process with this pid now"
		record = "solehold's record of the dead owner"
		next   = "the next start under solehold"
	)
	return Experiment{
		Name:     "pid-reuse",
		Title:    "a left-over pid file, and its pid used again",
		Believed: "The pid in the file exists, so the service is running; or it does not, so the file is stale.",
		Happens: "Pids are used again, after a reboot or in a container within seconds. Then the file names an innocent process: the service does not start, " +
			"and a stop script kills a stranger.",
		Advice: "Let a kernel lock decide; it needs no pid. Before a pid is shown or signalled compare the start time too (field 22 of /proc/PID/stat, with the boot id), " +
			"or keep a pidfd. A pid of another pid namespace says nothing.",
		Facts: []Fact{{alive, "alive"}, {same, "another one"}, {record, "stale: pid-reused"}, {next, gets}},
		needs: []need{needNamespaces(apartPIDs)},
		apart: apartPIDs,
		run: func(b *bench) {
			dir, pid := b.newDir("data"), 0
			for used := false; !used && b.err == nil; {
				pid = b.deadOwner(dir)
				used = true
				b.decisive(func() { used = b.useAgain(pid) })
			}
			b.do(func() error { return os.WriteFile(b.path("kb.pid"), []byte(strconv.Itoa(pid)), 0o600) })
			b.see(alive, existsByKill(pid))
			b.see(same, b.sameAsRecorded(dir))
			b.see(record, b.recordOf(dir))
			b.try(next, b.actor(), "acquire", dir)
		},
	}
}

// deadOwner gives the pid of one who has had the directory and was killed.
func (b *bench) deadOwner(dir string) int {
	owner := b.actor()
	owner.must("acquire", dir)
	owner.kill()
	owner.reap()
	return owner.pid
}

// useAgain starts another process that gets this pid. It is alone in its pid namespace, but its own threads take numbers
// too: where one has this number, and keeps it, the answer is false.
func (b *bench) useAgain(pid int) (used bool) {
	b.do(func() error {
		for range 1000 {
			if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", pid)); err == nil {
				return nil
			}
			err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0)
			if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
				return &missingError{fmt.Sprintf("to choose a pid (ns_last_pid: %v)", err), "run it as root, on a kernel with CONFIG_CHECKPOINT_RESTORE"}
			}
			if err != nil {
				return err
			}
			a := b.actor()
			if b.err != nil || a.pid == pid {
				used = b.err == nil
				return b.err
			}
			a.reap()
		}
		return fmt.Errorf("pid %d is not given", pid)
	})
	return used
}

func (b *bench) status(dir string) (st solehold.Status) {
	b.do(func() (err error) {
		st, err = solehold.Inspect(b.ctx, dir, nil)
		return err
	})
	return st
}

func (b *bench) recordOf(dir string) string {
	r := b.status(dir).Record
	return r.Class + ": " + r.Why
}

// sameAsRecorded says what the record of the dead owner knows of the process that has its pid.
func (b *bench) sameAsRecorded(dir string) string {
	switch b.status(dir).Record.Why {
	case "pid-reused":
		return "another one"
	case "no-such-process":
		return "none"
	}
	return "the same"
}
