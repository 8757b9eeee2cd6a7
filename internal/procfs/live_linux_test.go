package procfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// locked returns a file with an OFD lock on its bytes 5 to 14, and the inode.
func locked(tb testing.TB) (*os.File, uint64) {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), "lock"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 5, Len: 10}
	if err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		tb.Fatal(err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		tb.Fatal(err)
	}
	return file, stat.Ino
}

func TestLiveFDInfo(t *testing.T) {
	file, inode := locked(t)
	fd := int(file.Fd())
	info, err := procfs.Default().FDInfo(0, fd)
	if err != nil {
		t.Fatal(err)
	}
	if !info.Writable() || len(info.Locks) != 1 {
		t.Fatalf("got %+v", info)
	}
	got := info.Locks[0]
	if got.Type != "OFDLCK" || got.PID != -1 || !got.Write || got.Inode != inode || got.Start != 5 || got.End != 14 {
		t.Errorf("got %+v", got)
	}
	target, err := procfs.Default().FDTarget(0, fd)
	check(t, target, err, file.Name())
}

func TestLiveLocks(t *testing.T) {
	_, inode := locked(t)
	locks, err := procfs.Default().Locks()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(locks, func(l procfs.Lock) bool { return l.Inode == inode && l.Type == "OFDLCK" && !l.Waiting }) {
		t.Errorf("inode %d is not among %+v", inode, locks)
	}
}

// TestLiveLockHolders passes the lock to a child, which is a holder then, too.
func TestLiveLockHolders(t *testing.T) {
	file, inode := locked(t)
	child := exec.Command(testneed.Program(t, "cat", "install coreutils"))
	child.ExtraFiles = []*os.File{file}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stdin.Close() // ends cat
		_ = child.Wait()
	}()
	holdings, gaps := procfs.Default().LockHolders(func(l procfs.Lock) bool { return l.Inode == inode && l.Start == 5 })
	t.Log(texts(gaps)) // those of other users, when run without rights
	var got [][2]int
	for _, holding := range holdings {
		got = append(got, [2]int{holding.PID, holding.FD})
	}
	for _, want := range [][2]int{{os.Getpid(), int(file.Fd())}, {child.Process.Pid, 3}} {
		if !slices.Contains(got, want) {
			t.Errorf("%v is not among %v", want, got)
		}
	}
	on, err := procfs.Default().File(0, int(file.Fd()))
	check(t, on.Ino, err, inode)
	same, _ := procfs.Default().HoldersOn(nil, []procfs.FileID{on.FileID}, func(l procfs.Lock) bool { return l.Start == 5 })
	check(t, same, nil, holdings)
	other, _ := procfs.Default().HoldersOn([]int{0}, []procfs.FileID{{Dev: on.Dev, Ino: on.Ino + 1}}, nil)
	check(t, len(other), nil, 0)
	children, err := procfs.Default().Children(0)
	if err != nil || !slices.Contains(children, child.Process.Pid) {
		t.Errorf("children %v, error %v; want %d among them", children, err, child.Process.Pid)
	}
}

func TestLiveSelf(t *testing.T) {
	proc := procfs.Default()
	stat, err := proc.Stat(0)
	if err != nil {
		t.Fatal(err)
	}
	check(t, [2]int{stat.PID, stat.PPID}, nil, [2]int{os.Getpid(), os.Getppid()})
	same, err := proc.Stat(os.Getpid())
	check(t, same.StartTicks, err, stat.StartTicks)
	status, err := proc.Status(0)
	check(t, status.Tgid, err, os.Getpid())
	check(t, int(status.UID), nil, os.Getuid())
	args, err := proc.Cmdline(0)
	check(t, args, err, os.Args)
	exe, err := proc.Exe(0)
	check(t, exe != "", err, true)
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := proc.Cwd(0)
	check(t, got, err, cwd)
}

func TestLiveSurroundings(t *testing.T) {
	proc := procfs.Default()
	id, err := proc.BootID()
	check(t, len(id), err, 36)
	number, err := proc.Namespace(0, "pid")
	check(t, number != 0, err, true)
	mounts, err := proc.Mounts(0)
	check(t, slices.ContainsFunc(mounts, func(m procfs.Mount) bool { return m.Type == "proc" }), err, true)
	_, err = proc.Cgroups(0)
	check(t, err, nil, nil)
	threads, err := proc.Threads(0)
	check(t, slices.Contains(threads, os.Getpid()), err, true)
	pids, err := proc.Pids()
	check(t, slices.Contains(pids, os.Getpid()), err, true)
	for _, ancestor := range proc.Ancestors(0) {
		if ancestor.PID == os.Getpid() {
			t.Error("a process is its own ancestor")
		}
	}
	if _, err := proc.Wchan(0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err) // kernels without CONFIG_KALLSYMS have no such file
	}
}

// TestLiveProcessesParse reads whatever else runs here: a format that the tables do not know would show.
func TestLiveProcessesParse(t *testing.T) {
	proc := procfs.Default()
	pids, err := proc.Pids()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		_, statErr := proc.Stat(pid)
		_, statusErr := proc.Status(pid)
		_, cgroupErr := proc.Cgroups(pid)
		_, mountErr := proc.Mounts(pid)
		for _, err := range []error{statErr, statusErr, cgroupErr, mountErr} {
			if _, bad := errors.AsType[*procfs.ParseError](err); bad {
				t.Error(err)
			}
		}
	}
	gaps := proc.EachFD(nil, func(pid, fd int) {
		if _, err := proc.FDInfo(pid, fd); err != nil {
			if _, bad := errors.AsType[*procfs.ParseError](err); bad {
				t.Error(err)
			}
		}
	})
	t.Log(texts(gaps))
}

// TestLiveFlagsAgree compares the access mode with what the kernel tells by fcntl.
func TestLiveFlagsAgree(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, bytes.Repeat([]byte("x"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND} {
		file, err := os.OpenFile(name, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := procfs.Default().FDInfo(0, int(file.Fd()))
		check(t, info.Writable(), err, flag != os.O_RDONLY)
		if info.Pos < 0 || info.Pos > math.MaxInt32 {
			t.Errorf("position %d", info.Pos)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLiveNothingStaysOpen guards the bare descriptors of the default file system, which no finalizer would close.
func TestLiveNothingStaysOpen(t *testing.T) {
	proc := procfs.Default()
	before, err := proc.FDs(0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		proc.LockHolders(nil)
		_, _ = proc.Locks()
		_, _ = proc.Stat(1 << 30)
	}
	after, err := proc.FDs(0)
	check(t, len(after), err, len(before))
}

// TestLiveAbsent has the error that callers ask for come out of the bare system call, too.
func TestLiveAbsent(t *testing.T) {
	_, statErr := procfs.Default().Stat(1 << 30)
	_, infoErr := procfs.Default().FDInfo(0, 1<<30)
	for _, err := range []error{statErr, infoErr} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want fs.ErrNotExist", err)
		}
	}
}

func BenchmarkLockHolders(b *testing.B) {
	_, inode := locked(b)
	descriptors := 0
	procfs.Default().EachFD(nil, func(int, int) { descriptors++ })
	b.ReportAllocs()
	for b.Loop() {
		holdings, _ := procfs.Default().LockHolders(func(l procfs.Lock) bool { return l.Inode == inode })
		if len(holdings) == 0 {
			b.Fatal("own lock not found")
		}
	}
	b.ReportMetric(float64(descriptors), "fds")
}
