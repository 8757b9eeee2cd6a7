package procid_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

const roleVar = "SOLEHOLD_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		os.Stdin.Read(make([]byte, 1)) // until the test lets it go
		return
	}
	m.Run()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// child starts a process that ends with its input.
func child(t *testing.T) (*exec.Cmd, func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=1")
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, func() { in.Close() }
}

func wantVerdict(t *testing.T, got procid.Verdict, life procid.Life, why procid.Why) {
	t.Helper()
	if got.Life != life || got.Why != why || got.Detail == "" {
		t.Errorf("verdict %+v, want %s, %s", got, life, why)
	}
}

func TestSelf(t *testing.T) {
	o := procid.NewObserver(procfs.Default())
	me := o.Self()
	if me.PID != os.Getpid() || me.StartTicks == 0 {
		t.Errorf("self %+v", me)
	}
	wantVerdict(t, o.Judge(me, procid.MachineID()), procid.Alive, procid.SameProcess)
	wantVerdict(t, o.Judge(me, ""), procid.Alive, procid.SameProcess)
	wantVerdict(t, o.Judge(me, "another"), procid.Unknown, procid.OtherMachine)
	me.StartTicks++
	wantVerdict(t, o.Judge(me, ""), procid.Dead, procid.OwnPID)
	if len(procid.MachineID()) != 32 {
		t.Errorf("machine id %q", procid.MachineID())
	}
	if procid.SinceBoot() <= 0 {
		t.Error("no time since boot")
	}
}

// A process that has ended is dead at once, also while somebody has a handle of it,
// and so is one whose pid is another's by now.
func TestLifeOfAnother(t *testing.T) {
	o := procid.NewObserver(procfs.Default())
	cmd, end := child(t)
	id, err := procid.Of(procfs.Default(), cmd.Process.Pid)
	must(t, err)
	wantVerdict(t, o.Judge(id, ""), procid.Alive, procid.SameProcess)
	other := id
	other.StartTicks -= 10_000_000
	wantVerdict(t, o.Judge(other, ""), procid.Dead, procid.PIDReused)
	end()
	must(t, cmd.Wait())
	got := o.Judge(id, "")
	if got.Life != procid.Dead {
		t.Errorf("after its end: %+v", got)
	}
	if _, err := procid.Of(procfs.Default(), 0x7ffffffc); err == nil {
		t.Error("a process with a number that nobody has")
	}
}

// A process of before the last boot is told as such.
func TestEarlierBoot(t *testing.T) {
	o := procid.NewObserver(procfs.Default())
	id := o.Self()
	id.PID = 0x7ffffffc
	wantVerdict(t, o.Judge(id, ""), procid.Dead, procid.NoSuchProcess)
	id.StartTicks = 116444736000000000 // 1970
	wantVerdict(t, o.Judge(id, ""), procid.Dead, procid.OtherBoot)
}

func TestOrigin(t *testing.T) {
	cmd, _ := child(t)
	from := procid.OriginOf(procfs.Default(), cmd.Process.Pid)
	if !strings.HasPrefix(from.By, "session ") || !strings.Contains(from.By, "procid") && !strings.Contains(from.By, "tests.exe") {
		t.Errorf("the child was started by %q", from.By)
	}
	if mine := procid.OriginOf(procfs.Default(), 0); !strings.HasPrefix(mine.By, "session ") {
		t.Errorf("this process was started by %q", mine.By)
	}
}
