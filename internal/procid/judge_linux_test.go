package procid_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/testneed"
)

// TestJudge has a /proc that is made up and a process that is real: the kernel
// is asked beside /proc.
func TestJudge(t *testing.T) {
	t.Parallel()
	child := cat(t)
	pid, real := child.pid(), child.id(t)
	at := func(name string) string { return fmt.Sprintf("%d/%s", pid, name) }
	shown := files{
		at("stat"): stat(pid, "S", 1, 5000), at("status"): status(pid), at("cmdline"): "sleep\x0099\x00",
		at(fmt.Sprintf("task/%d/stat", pid)): "",
	}
	written := procid.ID{PID: pid, StartTicks: 5000, BootID: "boot-1", PIDNS: 100, TimeNS: 200}
	change := func(f func(*procid.ID)) procid.ID { id := written; f(&id); return id }
	numbered := func(ticks uint64, number uint64) procid.ID {
		return change(func(id *procid.ID) { id.StartTicks, id.PidfsID = ticks, number })
	}
	boot := change(func(id *procid.ID) { id.BootID = "boot-0" })
	later := change(func(id *procid.ID) { id.StartTicks = 4999 })
	me := change(func(id *procid.ID) { id.PID, id.StartTicks = os.Getpid(), 700 })
	time := change(func(id *procid.ID) { id.TimeNS = 201 })
	gone := files{at("stat"): "!", at("status"): "!"}
	zombie := files{at("stat"): stat(pid, "Z", 1, 5000), at("cmdline"): ""}
	other := real.PidfsID + 1
	for _, test := range []struct {
		name    string
		more    files
		id      procid.ID
		machine string // written down; the observer's is m1
		life    procid.Life
		why     procid.Why
		words   string
	}{
		{"same", nil, written, "m1", procid.Alive, procid.SameProcess, "same start time, same boot"},
		{"same, no machine written", nil, written, "", procid.Alive, procid.SameProcess, ""},
		{"container with its own machine id", nil, written, "m2", procid.Alive, procid.SameProcess, ""},
		{"reused", nil, later, "m1", procid.Dead, procid.PIDReused, "another process now: sleep 99"},
		{"reused, command hidden", files{at("cmdline"): "!"}, later, "m1", procid.Dead, procid.PIDReused, "now: sleep"},
		{"number is right, ticks are not", nil, numbered(1, real.PidfsID), "m1", procid.Alive, procid.SameProcess, ""},
		{"ticks are right, number is not", nil, numbered(5000, other), "m1", procid.Dead, procid.PIDReused, ""},
		{"myself", nil, me, "m1", procid.Alive, procid.SameProcess, ""},
		{"my pid", nil, change(func(id *procid.ID) { id.PID = os.Getpid() }), "m1", procid.Dead, procid.OwnPID, ""},
		{"thread", files{at("status"): status(1)}, written, "m1", procid.Dead, procid.NotAProcess, "thread of process 1"},
		{"zombie", zombie, written, "m1", procid.Dead, procid.Zombie, "parent, pid 1 (/sbin/init)"},
		{"zombie of a parent that is hidden", files{at("stat"): stat(pid, "Z", 9, 5000)}, written, "m1", procid.Dead, procid.Zombie, "not visible"},
		{"zombie leader", files{at("stat"): strings.Replace(zombie[at("stat")], " 20 0 1 0 ", " 20 0 2 0 ", 1)}, written, "m1", procid.Alive, procid.SameProcess, ""},
		{"dead", files{at("stat"): stat(pid, "X", 1, 5000)}, written, "m1", procid.Dead, procid.Zombie, ""},
		{"other boot", nil, boot, "m1", procid.Dead, procid.OtherBoot, "has booted since"},
		{"other boot, no machine written", nil, boot, "", procid.Unknown, procid.OtherBoot, "machine id is missing"},
		{"other boot of another machine", nil, boot, "m2", procid.Unknown, procid.OtherMachine, "another machine"},
		{"no boot written", nil, change(func(id *procid.ID) { id.BootID = "" }), "m1", procid.Unknown, procid.OtherBoot, ""},
		{"boot not readable", files{"sys/kernel/random/boot_id": "!"}, written, "m1", procid.Unknown, procid.OtherBoot, ""},
		{"other pid namespace", nil, change(func(id *procid.ID) { id.PIDNS = 101 }), "m1", procid.Unknown, procid.OtherNamespace, "101, here 100"},
		{"my pid of another namespace", nil, change(func(id *procid.ID) { id.PIDNS, id.PID = 101, os.Getpid() }), "m1", procid.Unknown, procid.OwnPID, ""},
		{"no pid namespace written", nil, change(func(id *procid.ID) { id.PIDNS = 0 }), "m1", procid.Unknown, procid.OtherNamespace, ""},
		{"no pid namespace at all", files{"self/ns/pid": "!"}, change(func(id *procid.ID) { id.PIDNS = 0 }), "m1", procid.Unknown, procid.OtherNamespace, ""},
		{"other time namespace", nil, time, "m1", procid.Unknown, procid.OtherNamespace, "time namespace (201, here 200)"},
		{"other time namespace, zombie", zombie, time, "m1", procid.Dead, procid.Zombie, ""},
		{"no time namespaces", files{"self/ns/time": "!"}, change(func(id *procid.ID) { id.TimeNS = 0 }), "m1", procid.Alive, procid.SameProcess, ""},
		{"hidden", gone, written, "m1", procid.Unknown, procid.Hidden, "hidden from this user"},
		{"hidden, number is right", gone, numbered(1, real.PidfsID), "m1", procid.Alive, procid.SameProcess, "details hidden"},
		{"hidden, number is another's", gone, numbered(1, other), "m1", procid.Dead, procid.PIDReused, "hidden from this user"},
		{"not understood", files{at("stat"): "nonsense"}, written, "m1", procid.Unknown, procid.Hidden, "cannot be looked at: parse"},
		{"pid 0", nil, change(func(id *procid.ID) { id.PID = 0 }), "m1", procid.Dead, procid.NoSuchProcess, ""},
		{"pid -1", nil, change(func(id *procid.ID) { id.PID = -1 }), "m1", procid.Dead, procid.NoSuchProcess, ""},
		{"pid beyond all", nil, change(func(id *procid.ID) { id.PID = math.MaxInt32 }), "m1", procid.Dead, procid.NoSuchProcess, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.id.PidfsID != 0 {
				testneed.Feature(t, real.PidfsID != 0, "the kernel's numbers of processes", "run the tests on Linux 6.9 or newer")
			}
			o := procid.ObserverOn(proc(here(), shown, test.more), "m1")
			want(t, o.Judge(test.id, test.machine), test.life, test.why, test.words)
		})
	}
	child.answers(t)
}

func status(tgid int) string {
	return fmt.Sprintf("Tgid:\t%d\nPPid:\t1\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n", tgid)
}

func TestJudgeWithoutMachineID(t *testing.T) {
	t.Parallel()
	o := procid.ObserverOn(proc(here()), "")
	id := o.Self()
	want(t, o.Judge(id, "m1"), procid.Alive, procid.SameProcess)
	id.BootID = "boot-0"
	want(t, o.Judge(id, "m1"), procid.Unknown, procid.OtherBoot)
	want(t, o.Judge(id, ""), procid.Unknown, procid.OtherBoot)
}

// Without /proc nothing can be proven, and nothing may be called dead.
func TestJudgeWithoutProc(t *testing.T) {
	t.Parallel()
	o := procid.NewObserver(procfs.New(fstest.MapFS{}))
	if o.Self() != (procid.ID{}) {
		t.Errorf("got %+v", o.Self())
	}
	for _, id := range []procid.ID{{PID: math.MaxInt32, BootID: "boot-1", PIDNS: 100}, {PID: os.Getpid()}, {}} {
		want(t, o.Judge(id, procid.MachineID()), procid.Unknown, procid.OtherBoot)
	}
}

// denied is a file system with errors in place of some files.
type denied struct {
	fs.FS
	errs map[string]error
}

func (d denied) Open(name string) (fs.File, error) {
	if err := d.errs[name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return d.FS.Open(name)
}

func (d denied) ReadLink(name string) (string, error) { return fs.ReadLink(d.FS, name) }

func (d denied) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(d.FS, name) }

func TestJudgeWhatMayNotBeRead(t *testing.T) {
	t.Parallel()
	child := cat(t)
	pid := child.pid()
	at := func(name string) string { return fmt.Sprintf("%d/%s", pid, name) }
	id := procid.ID{PID: pid, StartTicks: 5000, BootID: "boot-1", PIDNS: 100, TimeNS: 200}
	for _, test := range []struct {
		name string
		errs map[string]error
		life procid.Life
		why  procid.Why
		word string
	}{
		{"stat", map[string]error{at("stat"): fs.ErrPermission}, procid.Unknown, procid.Hidden, "hidden"},
		{"no descriptors left", map[string]error{at("stat"): errors.New("too many open files")}, procid.Unknown, procid.Hidden, "too many open files"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := denied{tree(here(), files{at("stat"): stat(pid, "Z", 1, 5000)}), test.errs}
			want(t, procid.NewObserver(procfs.New(tree)).Judge(id, ""), test.life, test.why, test.word)
		})
	}
}

// A /proc that counts another pid namespace than ours must not be believed: in
// `unshare --pid` without `--mount-proc` every pid in it means another process.
func TestJudgeByProcOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	child := cat(t)
	pid, number := child.pid(), child.id(t).PidfsID
	elsewhere := proc(here(), files{
		"self/stat":                 stat(os.Getpid()+1000, "S", 1, 700),
		fmt.Sprintf("%d/stat", pid): stat(pid, "S", 1, 5000),
	})
	if _, err := procid.Of(elsewhere, pid); err == nil {
		t.Error("a pid of ours was looked up in somebody else's /proc")
	}
	o := procid.NewObserver(elsewhere)
	if self := o.Self(); self.PID != os.Getpid() || self.StartTicks != 700 || self.PIDNS != 100 {
		t.Errorf("self is %+v", self)
	}
	id := procid.ID{PID: pid, StartTicks: 1, BootID: "boot-1", PIDNS: 100, TimeNS: 200}
	want(t, o.Judge(id, ""), procid.Unknown, procid.Hidden, "another pid namespace")
	if number != 0 {
		id.PidfsID = number
		want(t, o.Judge(id, ""), procid.Alive, procid.SameProcess)
		id.PidfsID++
		want(t, o.Judge(id, ""), procid.Dead, procid.PIDReused)
	}
}
