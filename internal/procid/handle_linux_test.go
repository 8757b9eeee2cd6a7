package procid_test

import (
	"errors"
	"math"
	"os"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/unix"
)

// refused fails the test if a handle of id can be had.
func refused(t *testing.T, name string, id procid.ID) {
	t.Helper()
	h, err := procid.Open(procfs.Default(), id)
	if err == nil {
		h.Close()
	}
	if !errors.Is(err, procid.ErrNotThisProcess) {
		t.Errorf("%s: %v, want ErrNotThisProcess", name, err)
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	child := cat(t)
	for name, id := range ways(child.id(t)) {
		h, err := procid.Open(procfs.Default(), id)
		if err != nil {
			t.Fatal(name, err)
		}
		defer h.Close()
		if h.Ended() {
			t.Error(name, "it lives, and counts as ended")
		}
	}
	id := child.id(t)
	h, err := procid.Open(procfs.Default(), id)
	must(t, err)
	defer h.Close()
	must(t, h.Signal(unix.SIGTERM))
	fds := []unix.PollFd{{Fd: int32(h.FD()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 10_000); n != 1 {
		t.Fatalf("the descriptor does not tell of the end: %v", err)
	}
	if !h.Ended() {
		t.Error("it has ended, and counts as living")
	}
	child.end()
	if ws := child.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v", child.cmd.ProcessState)
	}
	if err := h.Signal(unix.SIGTERM); err != unix.ESRCH {
		t.Errorf("signal to a process that was reaped: %v, want ESRCH", err)
	}
	refused(t, "gone", id)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	child := cat(t)
	id := child.id(t)
	for name, change := range map[string]func(*procid.ID){
		"another number":        func(id *procid.ID) { id.PidfsID++ },
		"another start":         func(id *procid.ID) { id.PidfsID, id.StartTicks = 0, id.StartTicks+1 },
		"another pid namespace": func(id *procid.ID) { id.PidfsID, id.PIDNS = 0, id.PIDNS+1 },
		"unknown pid namespace": func(id *procid.ID) { id.PidfsID, id.PIDNS = 0, 0 },
		"another time":          func(id *procid.ID) { id.PidfsID, id.TimeNS = 0, id.TimeNS+1 },
		"another pid":           func(id *procid.ID) { id.PidfsID, id.PID = 0, os.Getpid() },
		// The kernel counts its numbers from the start at each boot, and a machine boots alike each time.
		"another boot":     func(id *procid.ID) { id.BootID = "00000000-0000-4000-8000-000000000000" },
		"unknown boot":     func(id *procid.ID) { id.BootID = "" },
		"no such process":  func(id *procid.ID) { id.PID = math.MaxInt32 },
		"pid 0":            func(id *procid.ID) { id.PID = 0 },
		"negative pid":     func(id *procid.ID) { id.PID = -1 },
		"nothing is known": func(id *procid.ID) { *id = procid.ID{PID: id.PID} },
	} {
		if id.PidfsID == 0 && name == "another number" {
			continue // this kernel has none, so it decides nothing
		}
		id := id
		change(&id)
		refused(t, name, id)
	}
	child.answers(t)
}

// That the kernel gave no answer says nothing about the process.
func TestOpenWithoutDescriptors(t *testing.T) {
	t.Parallel()
	if !inside(t, nil) {
		return
	}
	child := cat(t)
	id := child.id(t)
	o := observe()
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: before.Max}))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	boot := proc(here(), files{"sys/kernel/random/boot_id": id.BootID})
	h, err := procid.Open(boot, id)
	if h != nil || !errors.Is(err, unix.EMFILE) || errors.Is(err, procid.ErrNotThisProcess) {
		t.Errorf("got %v, want EMFILE alone", err)
	}
	want(t, observe().Judge(id, ""), procid.Unknown, procid.OtherBoot)
	want(t, o.Judge(id, ""), procid.Unknown, procid.Hidden, "too many open files")
}

func TestHandleLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	if !inside(t, nil) { // no other test opens anything there
		return
	}
	child := cat(t)
	id := child.id(t)
	o := observe()
	before, err := procfs.Default().FDs(0)
	must(t, err)
	for range 3 {
		h, err := procid.Open(procfs.Default(), id)
		must(t, err)
		must(t, h.Close())
		other := id
		other.PidfsID++
		refused(t, "another number", other)
		o.Judge(id, "")
		other.PIDNS++
		o.Judge(other, "")
	}
	after, err := procfs.Default().FDs(0)
	must(t, err)
	if len(before) != len(after) {
		t.Errorf("open before: %v, after: %v", before, after)
	}
}
