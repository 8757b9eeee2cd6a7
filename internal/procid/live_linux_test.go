package procid_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// ways are an identity with the kernel's number and, as on kernels before 6.9,
// without: verdicts agree.
func ways(id procid.ID) map[string]procid.ID {
	all := map[string]procid.ID{"with number": id}
	id.PidfsID = 0
	all["without"] = id
	return all
}

func observe() procid.Observer { return procid.NewObserver(procfs.Default()) }

// judged judges real processes both ways.
func judged(t *testing.T, id procid.ID, life procid.Life, why procid.Why, words ...string) {
	t.Helper()
	o := observe()
	for name, id := range ways(id) {
		t.Log(name)
		want(t, o.Judge(id, procid.MachineID()), life, why, words...)
	}
}

func TestSelf(t *testing.T) {
	t.Parallel()
	self := observe().Self()
	if self.PID != os.Getpid() || self.StartTicks == 0 || len(self.BootID) != 36 || self.PIDNS == 0 {
		t.Errorf("got %+v", self)
	}
	again, err := procid.Of(procfs.Default(), os.Getpid())
	if err != nil || again != self {
		t.Errorf("by pid it is %+v, %v; by itself %+v", again, err, self)
	}
	judged(t, self, procid.Alive, procid.SameProcess)
}

func TestLifeAndDeath(t *testing.T) {
	t.Parallel()
	child := cat(t)
	id := child.id(t)
	judged(t, id, procid.Alive, procid.SameProcess)
	child.answers(t)
	child.exit(t)
	judged(t, id, procid.Dead, procid.Zombie, "its parent, pid", filepath.Base(os.Args[0]))
	child.end()
	judged(t, id, procid.Dead, procid.NoSuchProcess)
	if _, err := procid.Of(procfs.Default(), id.PID); err == nil {
		t.Error("a process that is gone has an identity")
	}
}

// TestRecordOfAnotherProcess is case C08: the pid is right, everything else is
// an older process' of this boot, or of one before.
func TestRecordOfAnotherProcess(t *testing.T) {
	t.Parallel()
	child := cat(t)
	id := child.id(t)
	older := id
	older.StartTicks, older.PidfsID = id.StartTicks-1, id.PidfsID-1
	judged(t, older, procid.Dead, procid.PIDReused, "another process now: ", "cat")
	before := id
	before.BootID = "00000000-0000-4000-8000-000000000000"
	if procid.MachineID() == "" {
		judged(t, before, procid.Unknown, procid.OtherBoot)
	} else {
		judged(t, before, procid.Dead, procid.OtherBoot)
		want(t, observe().Judge(before, ""), procid.Unknown, procid.OtherBoot)
		want(t, observe().Judge(before, "00000000000000000000000000000001"), procid.Unknown, procid.OtherMachine)
	}
	mine := observe().Self()
	mine.StartTicks, mine.PidfsID = mine.StartTicks-1, mine.PidfsID-1
	judged(t, mine, procid.Dead, procid.OwnPID) // case C09
	child.answers(t)
}

func TestThread(t *testing.T) {
	t.Parallel()
	tids, done := make(chan int), make(chan struct{})
	defer close(done)
	for range 2 { // one of them may be on the first thread
		go func() {
			runtime.LockOSThread()
			tids <- unix.Gettid()
			<-done
		}()
	}
	id := observe().Self()
	if id.PID = <-tids; id.PID == os.Getpid() {
		id.PID = <-tids
	} else {
		<-tids
	}
	judged(t, id, procid.Dead, procid.NotAProcess, "thread")
	if h, err := procid.Open(procfs.Default(), id); err == nil {
		h.Close()
		t.Error("a thread was opened as a process")
	}
}

// A process whose first thread has exited shows as a zombie and lives.
func TestZombieLeader(t *testing.T) {
	t.Parallel()
	child := leaderlessChild(t)
	id := child.id(t)
	if stat, err := procfs.Default().Stat(id.PID); err != nil || stat.State != 'Z' {
		t.Fatalf("its first thread is not a zombie: %+v, %v", stat, err)
	}
	judged(t, id, procid.Alive, procid.SameProcess)
	h, err := procid.Open(procfs.Default(), id)
	must(t, err)
	defer h.Close()
	if h.Ended() {
		t.Error("it lives, and counts as ended")
	}
	child.exit(t)
	judged(t, id, procid.Dead, procid.Zombie)
	if !h.Ended() {
		t.Error("it has ended, and counts as living")
	}
}

// leaderlessChild starts copies until one had its main goroutine on the first thread.
func leaderlessChild(t *testing.T) *process {
	t.Helper()
	for range 100 {
		child := copyAs(t, "leaderless", nil)
		if line, _ := child.out.ReadString('\n'); line == "ready\n" {
			return child
		}
		child.end()
	}
	t.Fatal("no copy could end its first thread")
	return nil
}

// A process names itself as it likes.
func TestNameThatLooksLikeStat(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a) Z 1\n(b")
	must(t, os.Symlink(testneed.Program(t, "cat", "install coreutils"), name))
	cmd := exec.Command(name)
	cmd.Args = []string{"cat"}
	child := start(t, cmd)
	id := child.id(t)
	stat, err := procfs.Default().Stat(id.PID)
	if err != nil || stat.Comm != "a) Z 1\n(b" {
		t.Fatalf("got %+v, %v", stat, err)
	}
	judged(t, id, procid.Alive, procid.SameProcess)
	id.StartTicks, id.PidfsID = id.StartTicks-1, id.PidfsID-1
	judged(t, id, procid.Dead, procid.PIDReused)
}

func TestProcessOfAnotherUser(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, newPIDs()) { // the machine's /proc may hide processes
		return
	}
	mountProc(t, "")
	mine := cat(t)
	nobody := copyAs(t, "judge", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	read[procid.ID](t, nobody)
	for _, id := range ways(mine.id(t)) { // case C11: EPERM is alive
		want(t, nobody.asked(t, id), procid.Alive, procid.SameProcess)
		id.StartTicks--
		id.PidfsID = 0
		want(t, nobody.asked(t, id), procid.Dead, procid.PIDReused)
	}
	mine.answers(t)
}
