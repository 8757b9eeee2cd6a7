package procfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
)

// errNoProcess stands for ESRCH, which has no name on all systems.
var errNoProcess = errors.New("no such process")

// descriptors lists "pid/fd" as EachFD visits them.
func descriptors(proc procfs.FS, pids []int) ([]string, procfs.Gaps) {
	var seen []string
	gaps := proc.EachFD(pids, func(pid, fd int) { seen = append(seen, fmt.Sprintf("%d/%d", pid, fd)) })
	return seen, gaps
}

func texts(gaps procfs.Gaps) []string {
	var list []string
	for _, gap := range gaps {
		list = append(list, gap.String())
	}
	return list
}

func TestEachFD(t *testing.T) {
	proc := procfs.New(tree())
	seen, gaps := descriptors(proc, nil)
	check(t, seen, nil, []string{"1/0", "412/0", "412/3"})
	check(t, texts(gaps), nil, nil)

	seen, gaps = descriptors(proc, []int{412, 5000})
	check(t, seen, nil, []string{"412/0", "412/3"})
	check(t, texts(gaps), nil, nil)

	seen, _ = descriptors(proc, []int{})
	check(t, seen, nil, nil)
}

func TestEachFDGaps(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		err  error
		seen []string
		gaps []string
	}{
		"denied":       {"412/fd", fs.ErrPermission, []string{"1/0"}, []string{"fd of pid 412: permission denied"}},
		"vanished":     {"412/fd", fs.ErrNotExist, []string{"1/0"}, nil},
		"still there":  {"412/fd", errNoProcess, []string{"1/0"}, []string{"fd of pid 412: no such process"}},
		"no processes": {".", fs.ErrPermission, nil, []string{"processes: permission denied"}},
	} {
		t.Run(name, func(t *testing.T) {
			seen, gaps := descriptors(procfs.New(faulty{FS: tree(), open: map[string]error{test.file: test.err}}), nil)
			check(t, seen, nil, test.seen)
			check(t, texts(gaps), nil, test.gaps)
		})
	}
}

// TestEndedProcessIsNoGap has the folder go together with the failure, as ESRCH comes.
func TestEndedProcessIsNoGap(t *testing.T) {
	for name, proc := range map[string]faulty{
		"list": {FS: tree(), open: map[string]error{"412/fd": errNoProcess, "412": fs.ErrNotExist}},
		"info": {FS: tree(), read: map[string]error{"412/fdinfo/3": errNoProcess}, open: map[string]error{"412": fs.ErrNotExist}},
	} {
		t.Run(name, func(t *testing.T) {
			holdings, gaps := procfs.New(proc).LockHolders(nil)
			check(t, len(holdings), nil, 0)
			check(t, texts(gaps), nil, nil)
		})
	}
}

// TestKernelThreadIsNoGap is what a user without rights sees: all are denied, but kernel threads have no descriptors.
func TestKernelThreadIsNoGap(t *testing.T) {
	proc := files(map[string]string{"2/stat": kernelThread, "2/fd/none": "", "3/stat": statLine(3, 1), "3/fd/1": ""})
	denied := map[string]error{"2/fd": fs.ErrPermission, "3/fd": fs.ErrPermission}
	_, gaps := descriptors(procfs.New(faulty{FS: proc, open: denied}), nil)
	check(t, texts(gaps), nil, []string{"fd of pid 3: permission denied"})
}

func TestLockHolders(t *testing.T) {
	proc := procfs.New(tree())
	all, gaps := proc.LockHolders(nil)
	check(t, texts(gaps), nil, nil)
	check(t, len(all), nil, 2)

	flocks, _ := proc.LockHolders(func(l procfs.Lock) bool { return l.Type == "FLOCK" && l.Inode == 131091 })
	if len(flocks) != 1 {
		t.Fatalf("got %v", flocks)
	}
	// The row names the dead taker, the holding the process that has it now.
	check(t, [3]int{flocks[0].PID, flocks[0].FD, flocks[0].Lock.PID}, nil, [3]int{412, 3, 300})

	none, _ := proc.LockHolders(func(procfs.Lock) bool { return false })
	check(t, len(none), nil, 0)
}

// On a few files only those descriptors are read that lead there, and those of which a file system does not tell.
func TestHoldersOn(t *testing.T) {
	proc := procfs.New(tree())
	all, gaps := proc.HoldersOn(nil, nil, nil)
	check(t, texts(gaps), nil, nil)
	check(t, len(all), nil, 2)
	some, _ := proc.HoldersOn([]int{1}, nil, nil)
	check(t, len(some), nil, 0)
	denied := map[string]error{"412/fd": fs.ErrPermission}
	_, gaps = procfs.New(faulty{FS: tree(), open: denied}).HoldersOn(nil, nil, nil)
	check(t, texts(gaps), nil, []string{"fd of pid 412: permission denied"})
}

// shared is a lock that two processes hold, one under two numbers, and a third that may not be looked into.
func shared() fs.FS {
	const info = "pos:\t0\nflags:\t02\nlock:\t1: OFDLCK ADVISORY  WRITE -1 08:01:9 0 EOF\n"
	return files(map[string]string{
		"5/fd/3": "", "5/fd/4": "", "6/fd/3": "", "7/fd/1": "", "7/fd/2": "", "7/stat": statLine(7, 1),
		"5/fdinfo/3": info, "5/fdinfo/4": info, "6/fdinfo/3": info, "7/fdinfo/1": info, "7/fdinfo/2": info,
	})
}

func TestLockHoldersShared(t *testing.T) {
	denied := map[string]error{"7/fdinfo/1": fs.ErrPermission, "7/fdinfo/2": fs.ErrPermission}
	holdings, gaps := procfs.New(faulty{FS: shared(), open: denied}).LockHolders(nil)
	var got [][2]int
	for _, holding := range holdings {
		got = append(got, [2]int{holding.PID, holding.FD})
	}
	check(t, got, nil, [][2]int{{5, 3}, {5, 4}, {6, 3}})
	check(t, texts(gaps), nil, []string{"fdinfo of pid 7: permission denied"})
	if !errors.Is(gaps[0].Err, fs.ErrPermission) {
		t.Errorf("got %v, want permission denied", gaps[0].Err)
	}
}

// What may not be looked into while it is being ended is no gap, unless a thread of it goes on.
func TestLockHoldersEnding(t *testing.T) {
	const ending = " 1 412 411 34816 -1 4194308 98 0 0 0 3 4 0 0 20 0 "
	for threads, gaps := range map[string][]string{"1": nil, "2": {"fdinfo of pid 7: permission denied"}} {
		all := files(map[string]string{
			"7/fd/1": "", "7/fdinfo/1": "", "7/stat": "7 (p7) Z" + ending + threads + " 0 5 0 0\n",
			"7/task/7/x": "", "7/task/8/x": "", "8/stat": statLine(8, 1), "8/fdinfo/1": "",
		})
		denied := map[string]error{"7/fdinfo/1": fs.ErrPermission, "8/fdinfo/1": fs.ErrPermission}
		_, got := procfs.New(faulty{FS: all, open: denied}).HoldersOn([]int{7}, nil, nil)
		check(t, texts(got), nil, gaps)
	}
}

// TestLockHoldersHidden is hidepid: what the mount hides is not even a gap.
func TestLockHoldersHidden(t *testing.T) {
	hidden := map[string]error{"5/fd": fs.ErrNotExist, "6/fd": fs.ErrNotExist}
	holdings, gaps := procfs.New(faulty{FS: shared(), open: hidden}).LockHolders(nil)
	check(t, len(holdings), nil, 2)
	check(t, texts(gaps), nil, nil)
}

func TestLockHoldersMalformed(t *testing.T) {
	proc := procfs.New(files(map[string]string{
		"5/fd/3": "", "5/fdinfo/3": "pos:\t0\nflags:\t02\nlock:\tnonsense\n",
		"6/fd/3": "", "6/fdinfo/3": "pos:\t0\nflags:\t02\nlock:\t1: FLOCK  ADVISORY  READ 6 08:01:9 0 EOF\n",
	}))
	holdings, gaps := proc.LockHolders(nil)
	check(t, len(holdings), nil, 1)
	if len(gaps) != 1 || gaps[0].PID != 5 {
		t.Fatalf("got %v", texts(gaps))
	}
	refused(t, gaps[0].Err, "5/fdinfo/3", "nonsense")
}
