package procfs_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold/internal/procfs"
)

func TestCmdline(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"usual":        {"/bin/sh\x00-c\x00exit 1\x00", []string{"/bin/sh", "-c", "exit 1"}},
		"empty args":   {"a\x00\x00b\x00\x00", []string{"a", "", "b", ""}},
		"overwritten":  {"nginx: master process", []string{"nginx: master process"}},
		"newline":      {"a\nb\x00", []string{"a\nb"}},
		"zombie":       {"", []string{}},
		"one empty":    {"\x00", []string{""}},
		"not UTF-8 \t": {"\xff\x00", []string{"\xff"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := one("5/cmdline", test.text).Cmdline(5)
			check(t, got, err, test.want)
		})
	}
}

func TestLinks(t *testing.T) {
	proc := procfs.New(files(map[string]string{
		"5/exe": "@/usr/bin/app (deleted)", "5/cwd": "@/srv/my data",
		"5/fd/0": "@/dev/null", "5/fd/3": "@socket:[4711]", "5/fd/10": "@/a/b (deleted)", "5/fd/x": "",
	}))
	exe, err := proc.Exe(5)
	check(t, exe, err, "/usr/bin/app (deleted)")
	cwd, err := proc.Cwd(5)
	check(t, cwd, err, "/srv/my data")
	fds, err := proc.FDs(5)
	check(t, fds, err, []int{0, 3, 10})
	target, err := proc.FDTarget(5, 3)
	check(t, target, err, "socket:[4711]")
	target, err = proc.FDTarget(5, 10)
	check(t, target, err, "/a/b (deleted)")
}

func TestLinksNotPermitted(t *testing.T) {
	denied := map[string]error{"412/exe": fs.ErrPermission, "412/fd": fs.ErrPermission, "412/ns/pid": fs.ErrPermission}
	proc := procfs.New(faulty{FS: tree(), open: denied})
	_, exeErr := proc.Exe(412)
	fds, fdErr := proc.FDs(412)
	_, nsErr := proc.Namespace(412, "pid")
	for _, err := range []error{exeErr, fdErr, nsErr} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v, want permission denied", err)
		}
	}
	if len(fds) != 0 {
		t.Errorf("got descriptors %v beside the error", fds)
	}
}

func TestNamespace(t *testing.T) {
	proc := procfs.New(files(map[string]string{
		"5/ns/pid": "@pid:[4026531836]", "5/ns/pid_for_children": "@pid:[4026531837]",
	}))
	number, err := proc.Namespace(5, "pid")
	check(t, number, err, 4026531836)
	number, err = proc.Namespace(5, "pid_for_children")
	check(t, number, err, 4026531837)
}

func TestNamespaceMalformed(t *testing.T) {
	for _, target := range []string{"pid", "pid:[", "pid:[]", "pid:[x]", "pid:[-1]", "pid:[12", "pid:12]", "/proc/1/ns"} {
		number, err := procfs.New(files(map[string]string{"5/ns/pid": "@" + target})).Namespace(5, "pid")
		refused(t, err, "5/ns/pid", target)
		if number != 0 {
			t.Errorf("%s: got %d beside the error", target, number)
		}
	}
}

func TestBootIDEmpty(t *testing.T) {
	_, err := one("sys/kernel/random/boot_id", "\n").BootID()
	refused(t, err, "sys/kernel/random/boot_id", "\n")
}

func TestWchan(t *testing.T) {
	proc := procfs.New(tree())
	name, err := proc.Wchan(412)
	check(t, name, err, "locks_lock_inode_wait")
	name, err = proc.Wchan(1)
	check(t, name, err, "")
}

func TestThreads(t *testing.T) {
	threads, err := procfs.New(tree()).Threads(412)
	check(t, threads, err, []int{412, 415})
}

func TestChildren(t *testing.T) {
	proc := procfs.New(files(map[string]string{
		"5/task/5/children": "30 7 ", "5/task/6/children": "12 ", "5/task/8/stat": "thread without the file",
	}))
	children, err := proc.Children(5)
	check(t, children, err, []int{7, 12, 30})

	children, err = procfs.New(tree()).Children(412)
	check(t, children, err, []int{977})
}

func TestChildrenWithoutTheFile(t *testing.T) {
	proc := procfs.New(files(map[string]string{
		"self": "@5", "5/task/5/stat": "", "5/stat": statLine(5, 1),
		"7/stat": statLine(7, 5), "8/stat": statLine(8, 7), "9/stat": statLine(9, 5), "10/stat": "ending",
	}))
	for _, pid := range []int{5, 0} {
		children, err := proc.Children(pid)
		check(t, children, err, []int{7, 9})
	}
}

func TestChildrenMalformed(t *testing.T) {
	_, err := one("5/task/5/children", "7 x").Children(5)
	refused(t, err, "5/task/5/children", "7 x")
}

func TestCgroups(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []procfs.Cgroup
	}{
		"v2": {"0::/user.slice/user-1000.slice\n", []procfs.Cgroup{{Path: "/user.slice/user-1000.slice"}}},
		"hybrid": {
			"4:cpu,cpuacct:/\n1:name=systemd:/a.service\n0::/a.service\n",
			[]procfs.Cgroup{
				{Hierarchy: 4, Controllers: []string{"cpu", "cpuacct"}, Path: "/"},
				{Hierarchy: 1, Controllers: []string{"name=systemd"}, Path: "/a.service"},
				{Path: "/a.service"},
			},
		},
		"colons and blanks": {"0::/a:b c/d (deleted)\n", []procfs.Cgroup{{Path: "/a:b c/d (deleted)"}}},
		"outside":           {"0::/../other", []procfs.Cgroup{{Path: "/../other"}}},
		"none":              {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := one("5/cgroup", test.text).Cgroups(5)
			check(t, got, err, test.want)
		})
	}
}

func TestCgroupsMalformed(t *testing.T) {
	for _, line := range []string{"0:/", "x::/", "\n"} {
		got, err := one("5/cgroup", "0::/\n"+line).Cgroups(5)
		refused(t, err, "5/cgroup", strings.TrimSpace(line))
		if got != nil {
			t.Errorf("%q: got %v beside the error", line, got)
		}
	}
}

// The signals that a process handles itself are bits of a number in hex, the lowest
// for signal 1.
func TestCatches(t *testing.T) {
	const head = "Name:\tx\nTgid:\t7\nPPid:\t1\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
	for text, caught := range map[string][]int{
		"SigCgt:\t0000000000000000\n":                            {},
		"SigCgt:\t0000000000000001\n":                            {1},
		"SigCgt:\t0000000180014003\n":                            {1, 2, 15, 17, 32, 33},
		"SigIgn:\t00000000ffffffff\nSigCgt:\t8000000000000000\n": {64},
		"": {},
	} {
		fsys := fstest.MapFS{"7/status": &fstest.MapFile{Data: []byte(head + text)}}
		st, err := procfs.New(fsys).Status(7)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var got []int
		for sig := range 66 {
			if st.Catches(sig) {
				got = append(got, sig)
			}
		}
		if !slices.Equal(got, caught) {
			t.Errorf("%q: %v, want %v", text, got, caught)
		}
	}
	fsys := fstest.MapFS{"7/status": &fstest.MapFile{Data: []byte(head + "SigCgt:\tmany\n")}}
	if st, err := procfs.New(fsys).Status(7); err == nil {
		t.Errorf("no number: %+v", st)
	}
}
