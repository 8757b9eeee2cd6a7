package procid_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// reuse starts cats until one has the pid of the process id, and a later start
// time: in one clock tick the start times of two processes are equal. It is for
// a pid namespace of the test's own.
func reuse(t *testing.T, id procid.ID) *process {
	t.Helper()
	for range 1000 {
		must(t, os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(id.PID-1)), 0))
		p := cat(t)
		if now := p.id(t); now.PID == id.PID && now.StartTicks != id.StartTicks {
			return p
		}
		p.end() // too early, or a thread of ours took the number
	}
	t.Fatalf("pid %d is not used again", id.PID)
	return nil
}

// TestPIDReused uses a pid again, really: case C08.
func TestPIDReused(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, newPIDs()) {
		return
	}
	mountProc(t, "")
	old := cat(t)
	id := old.id(t)
	h, err := procid.Open(procfs.Default(), id)
	must(t, err)
	defer h.Close()
	old.end()
	now := reuse(t, id)
	judged(t, id, procid.Dead, procid.PIDReused, "another process now: ", "cat")

	// No way leads from the old identity to the new process.
	if err := h.Signal(unix.SIGKILL); err != unix.ESRCH {
		t.Errorf("signal to a process that is gone: %v, want ESRCH", err)
	}
	for name, id := range ways(id) {
		refused(t, name, id)
	}
	now.answers(t)
	judged(t, now.id(t), procid.Alive, procid.SameProcess)
}

// TestFirstProcessAgain is case C09: pid 1 of a container finds the record of
// pid 1, from the container before it.
func TestFirstProcessAgain(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	host := observe()
	before, now := copyAs(t, "judge", newPIDs()), copyAs(t, "judge", newPIDs())
	id, self := read[procid.ID](t, before), read[procid.ID](t, now)
	if id.PID != 1 || self.PID != 1 || id.PIDNS == self.PIDNS || id.PIDNS == host.Self().PIDNS {
		t.Fatalf("got %+v and %+v", id, self)
	}
	want(t, now.asked(t, id), procid.Unknown, procid.OwnPID, fmt.Sprintf("pid 1 of another pid namespace (%d, here %d)", id.PIDNS, self.PIDNS))
	want(t, now.asked(t, self), procid.Alive, procid.SameProcess)
	before.end()
	want(t, now.asked(t, id), procid.Unknown, procid.OwnPID)
}

func TestOtherNamespaceFromHost(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	host := observe()
	child := copyAs(t, "judge", newPIDs())
	id := read[procid.ID](t, child)
	without := id
	without.PidfsID = 0
	want(t, host.Judge(without, ""), procid.Unknown, procid.OtherNamespace, "pid 1 of another pid namespace")
	if !procid.KernelFinds(host.Self()) {
		want(t, host.Judge(id, ""), procid.Unknown, procid.OtherNamespace)
		return
	}
	want(t, host.Judge(id, ""), procid.Alive, procid.OtherNamespace)
	child.exit(t)
	want(t, host.Judge(id, ""), procid.Dead, procid.OtherNamespace) // a zombie
	child.end()
	want(t, host.Judge(id, ""), procid.Dead, procid.OtherNamespace)
	want(t, host.Judge(without, ""), procid.Unknown, procid.OtherNamespace)
}

// From inside nothing is known of a process outside, dead or alive.
func TestOtherNamespaceFromInside(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	outside, child := cat(t), copyAs(t, "judge", newPIDs())
	read[procid.ID](t, child)
	id := outside.id(t)
	for range 2 {
		for _, id := range ways(id) {
			want(t, child.asked(t, id), procid.Unknown, procid.OtherNamespace)
		}
		outside.end()
	}
}

// In a new pid namespace without a /proc of its own, pids and /proc disagree.
func TestNamespaceWithoutItsProc(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, newPIDs()) {
		return
	}
	o := observe()
	self, child := o.Self(), cat(t)
	if self.PID != 1 {
		t.Fatalf("self is %+v", self)
	}
	want(t, o.Judge(procid.ID{PID: 1, BootID: self.BootID, PIDNS: self.PIDNS, TimeNS: self.TimeNS}, ""), procid.Unknown, procid.Hidden)
	if self.PidfsID != 0 {
		want(t, o.Judge(self, ""), procid.Alive, procid.SameProcess)
	}
	if id, err := procid.Of(procfs.Default(), child.pid()); err == nil {
		t.Errorf("pid %d of this namespace is %+v in the /proc of another", child.pid(), id)
	}
	mountProc(t, "")
	judged(t, child.id(t), procid.Alive, procid.SameProcess)
	judged(t, self, procid.Alive, procid.SameProcess)
}

// TestTimeNamespace: the start times of /proc are shifted there.
func TestTimeNamespace(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	unshare := testneed.Program(t, "unshare", "install util-linux")
	child := cat(t)
	other := copyAs(t, "judge", nil, unshare, "--time", "--boottime", "100000", "--fork")
	id, self := child.id(t), read[procid.ID](t, other)
	if self.TimeNS == id.TimeNS || self.StartTicks < id.StartTicks+100000*50 {
		t.Fatalf("inside it is %+v", self)
	}
	if id.PidfsID != 0 {
		want(t, other.asked(t, id), procid.Alive, procid.SameProcess)
	}
	id.PidfsID = 0
	want(t, other.asked(t, id), procid.Unknown, procid.OtherNamespace, "time namespace")
	self.PidfsID = 0
	want(t, observe().Judge(self, ""), procid.Unknown, procid.OtherNamespace, "time namespace")
	child.exit(t)
	want(t, other.asked(t, id), procid.Dead, procid.Zombie) // whichever it is
}

// TestHidepid is case C11: other users' processes are not in /proc at all.
func TestHidepid(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, newPIDs()) {
		return
	}
	mountProc(t, "hidepid=2") // a new mount: a remount would hide the machine's processes
	mine, dead := cat(t), cat(t)
	id, gone := mine.id(t), dead.id(t)
	nobody := copyAs(t, "judge", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	self := read[procid.ID](t, nobody)
	want(t, nobody.asked(t, self), procid.Alive, procid.SameProcess)
	numbers := id.PidfsID != 0
	without := id
	without.PidfsID = 0
	want(t, nobody.asked(t, without), procid.Unknown, procid.Hidden)
	if numbers {
		want(t, nobody.asked(t, id), procid.Alive, procid.SameProcess, "details hidden")
		other := id
		other.PidfsID--
		want(t, nobody.asked(t, other), procid.Dead, procid.PIDReused, "hidden")
	}
	dead.end()
	for _, gone := range ways(gone) { // the kernel tells, whatever /proc hides
		want(t, nobody.asked(t, gone), procid.Dead, procid.NoSuchProcess)
	}
	mine.answers(t)
	mine.exit(t)
	if numbers {
		want(t, nobody.asked(t, id), procid.Dead, procid.Zombie)
	}
	want(t, nobody.asked(t, without), procid.Unknown, procid.Hidden)
}

func TestMachineID(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}) {
		return
	}
	const etc, dbus = "/etc/machine-id", "/var/lib/dbus/machine-id"
	for _, dir := range []string{"/etc", "/var/lib"} { // of this mount namespace only
		must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	}
	must(t, os.Mkdir(filepath.Dir(dbus), 0o755))
	const a, b = "0123456789abcdef0123456789abcdef", "ffffffffffffffffffffffffffffffff"
	for _, test := range []struct{ etc, dbus, want string }{
		{"", "", ""},
		{a + "\n", "", a},
		{a, b, a},
		{"", b + "\n", b},
		{"uninitialized\n", "", ""},
		{"uninitialized\n", b, b},
		{"\n", "short", ""},
	} {
		for name, text := range map[string]string{etc: test.etc, dbus: test.dbus} {
			os.Remove(name)
			if text != "" {
				must(t, os.WriteFile(name, []byte(text), 0o444))
			}
		}
		if got := procid.MachineID(); got != test.want {
			t.Errorf("%q and %q give %q, want %q", test.etc, test.dbus, got, test.want)
		}
	}
}
