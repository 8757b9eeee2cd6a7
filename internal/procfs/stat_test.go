package procfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
)

// afterState is the rest of a stat line from ppid on, with start time 48546.
const afterState = " 1 412 411 34816 -1 4194304 98 0 0 0 3 4 0 0 20 0 1 0 48546 3133440 414 18446744073709551615 0 0\n"

func TestStat(t *testing.T) {
	want := procfs.Stat{PID: 412, State: 'S', PPID: 1, PGID: 412, SID: 411, TTY: 34816, Threads: 1, StartTicks: 48546}
	for _, comm := range []string{
		"postgres", "", "a) Z 1 2 (", ")", "(", "))) S 1", "two\nlines", "tab\tand blank", "\xff\xfe", "kworker/0:1H-kblockd",
	} {
		t.Run(comm, func(t *testing.T) {
			want.Comm = comm
			got, err := one("412/stat", "412 ("+comm+") S"+afterState).Stat(412)
			check(t, got, err, want)
		})
	}
}

func TestStatOfZombieAndLargeNumbers(t *testing.T) {
	got, err := procfs.New(tree()).Stat(977)
	check(t, got, err, procfs.Stat{
		PID: 977, Comm: "sh", State: 'Z', PPID: 412, PGID: 412, SID: 412, Threads: 1, StartTicks: 50001, CPU: 1, Exiting: true,
	})
	line := "7 (x) R 1 1 1 -1 -1" + strings.Repeat(" 0", 13) + " 18446744073709551615"
	got, err = one("7/stat", line).Stat(7)
	check(t, got, err, procfs.Stat{
		PID: 7, Comm: "x", State: 'R', PPID: 1, PGID: 1, SID: 1, TTY: -1, StartTicks: 1<<64 - 1,
	})
}

// What has ended is told from what goes on without its first thread.
func TestEnded(t *testing.T) {
	for text, want := range map[string]bool{
		"S" + afterState: false,
		"Z" + afterState: true,
		"X" + afterState: true,
		"Z" + strings.Replace(afterState, " 20 0 1 0 ", " 20 0 2 0 ", 1): false,
	} {
		if got, err := one("412/stat", "412 (sh) "+text).Stat(412); err != nil || got.Ended() != want {
			t.Errorf("%s: %+v, %v; want %t", text, got, err, want)
		}
	}
}

func TestStatMalformed(t *testing.T) {
	for name, text := range map[string]string{
		"empty":        "",
		"no name":      "412 S 1",
		"turned":       "412 )x( S" + afterState,
		"cut":          "412 (x) S 1 412 411",
		"state":        "412 (x) SS" + afterState,
		"pid":          "four (x) S" + afterState,
		"ppid":         strings.Replace("412 (x) S"+afterState, "S 1 ", "S one ", 1),
		"huge number":  strings.Replace("412 (x) S"+afterState, "48546", strings.Repeat("9", 30), 1),
		"negative age": strings.Replace("412 (x) S"+afterState, "48546", "-1", 1),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := one("412/stat", text).Stat(412)
			refused(t, err, "412/stat", strings.TrimSpace(text)[:min(len(text), 8)])
			if got != (procfs.Stat{}) {
				t.Errorf("got %+v beside the error", got)
			}
		})
	}
}

func statLine(pid, ppid int) string {
	return fmt.Sprintf("%d (p%d) S %d%s", pid, pid, ppid, strings.TrimPrefix(afterState, " 1"))
}

func TestAncestors(t *testing.T) {
	long := map[int]int{}
	for pid := 2; pid < 3000; pid++ {
		long[pid] = pid - 1
	}
	for _, test := range []struct {
		name    string
		parents map[int]int
		pid     int
		want    []int
	}{
		{"chain", map[int]int{1: 0, 20: 1, 300: 20, 4000: 300}, 4000, []int{300, 20, 1}},
		{"init", map[int]int{1: 0}, 1, nil},
		{"absent", map[int]int{1: 0}, 5, nil},
		{"hidden parent", map[int]int{1: 0, 9: 8}, 9, nil},
		{"hidden grandparent", map[int]int{1: 0, 9: 8, 8: 7}, 9, []int{8}},
		{"cycle", map[int]int{5: 6, 6: 7, 7: 6}, 5, []int{6, 7}},
		{"cycle through itself", map[int]int{5: 6, 6: 5}, 5, []int{6}},
		{"own parent", map[int]int{5: 5}, 5, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []int
			for _, stat := range family(test.parents).Ancestors(test.pid) {
				got = append(got, stat.PID)
			}
			check(t, got, nil, test.want)
		})
	}
	if got := len(family(long).Ancestors(2999)); got != 1024 {
		t.Errorf("chain of %d, want the bound", got)
	}
}

// family is a /proc of stat files with these parents.
func family(parents map[int]int) procfs.FS {
	contents := map[string]string{}
	for pid, ppid := range parents {
		contents[fmt.Sprintf("%d/stat", pid)] = statLine(pid, ppid)
	}
	return procfs.New(files(contents))
}

func TestStatus(t *testing.T) {
	got, err := procfs.New(tree()).Status(412)
	check(t, got, err, procfs.Status{Tgid: 412, PPid: 1, UID: 1000, EUID: 26, GID: 100, NSpid: []int{412, 7}})
}

func TestStatOfKernelThread(t *testing.T) {
	got, err := one("2/stat", kernelThread).Stat(2)
	check(t, got, err, procfs.Stat{PID: 2, Comm: "kthreadd", State: 'S', Threads: 1, StartTicks: 7, Kernel: true})
}

const kernelThread = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 18446744073709551615 0\n"

const minimalStatus = "Name:\tx\nTgid:\t7\nPPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"

func TestStatusVariants(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want procfs.Status
	}{
		"no NSpid":      {minimalStatus, procfs.Status{Tgid: 7}},
		"forged name":   {`Name:	\nUid:\t5` + "\n" + strings.TrimPrefix(minimalStatus, "Name:\tx\n"), procfs.Status{Tgid: 7}},
		"no last break": {minimalStatus + "NSpid:\t7\t1", procfs.Status{Tgid: 7, NSpid: []int{7, 1}}},
		"largest uid": {
			strings.Replace(minimalStatus, "Uid:\t0\t0", "Uid:\t4294967295\t4294967294", 1),
			procfs.Status{Tgid: 7, UID: 4294967295, EUID: 4294967294},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := one("7/status", test.text).Status(7)
			check(t, got, err, test.want)
		})
	}
}

func TestStatusMalformed(t *testing.T) {
	for name, text := range map[string]string{
		"empty":       "",
		"no uid":      strings.Replace(minimalStatus, "Uid:", "Fid:", 1),
		"short uid":   strings.Replace(minimalStatus, "Uid:\t0\t0\t0\t0", "Uid:\t0", 1),
		"bad tgid":    strings.Replace(minimalStatus, "Tgid:\t7", "Tgid:\tx", 1),
		"uid too big": strings.Replace(minimalStatus, "Uid:\t0", "Uid:\t4294967296", 1),
		"bad nspid":   minimalStatus + "NSpid:\t7\tx\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := one("7/status", text).Status(7)
			refused(t, err, "7/status", text[:min(len(text), 5)])
		})
	}
}

func TestStatNoPermission(t *testing.T) {
	proc := procfs.New(faulty{FS: tree(), open: map[string]error{"412/stat": fs.ErrPermission}})
	if _, err := proc.Stat(412); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want permission denied", err)
	}
}
