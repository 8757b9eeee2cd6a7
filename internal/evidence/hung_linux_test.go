package evidence_test

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// begin starts a program that says nothing.
func begin(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// waited returns when as many wait for a lock of the file.
func waited(t *testing.T, path string, n int) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	ino := st.Sys().(*syscall.Stat_t).Ino
	testneed.Until(t, fmt.Sprintf("%d wait for %s", n, path), func() bool {
		rows, _ := procfs.Default().Locks()
		rows = slices.DeleteFunc(rows, func(l procfs.Lock) bool { return !l.Waiting || l.Inode != ino })
		return len(rows) >= n
	})
}

func flockOf(t *testing.T) string {
	t.Helper()
	return testneed.Program(t, "flock", "apt-get install util-linux")
}

// holding starts a process that has one lock and says so. Where there is another
// lock it waits for that from the call of next on.
func holding(t *testing.T, mine, other string) (cmd *exec.Cmd, next func()) {
	t.Helper()
	if other == "" {
		return start(t, "sh", "-c", `exec 8>>"$1"; "$0" 8; echo ready; exec sleep 600`, flockOf(t), mine), nil
	}
	gate := filepath.Join(t.TempDir(), "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	cmd = start(t, "sh", "-c", `exec 8>>"$1" 9>>"$2"; "$0" 8; echo ready; read x <"$3"; exec "$0" 9`, flockOf(t), mine, other, gate)
	return cmd, func() { fmt.Fprintln(f) }
}

// The holder of a lock may wait itself: that is said too.
func TestBlockersTwoLevelsDeep(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	last, _ := holding(t, two, "")
	middle, next := holding(t, one, two)
	next()
	waited(t, two, 1)
	first := begin(t, flockOf(t), one, "true")
	waited(t, one, 1)
	in := take(t, root(t), evidence.Request{Reason: "no answer", PIDs: []int{first.Process.Pid}})
	for _, want := range []string{
		fmt.Sprintf(" in flock() for %s, held by pid %d (", one, middle.Process.Pid),
		fmt.Sprintf(", which waits in flock() for %s, held by pid %d (sleep 600), which waits in nanosleep.", two, last.Process.Pid),
	} {
		if !strings.Contains(in.Finding, want) {
			t.Errorf("finding: %s\nlacks: %s", in.Finding, want)
		}
	}
}

func TestDeadlock(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	a, nextOfA := holding(t, one, two)
	b, nextOfB := holding(t, two, one)
	nextOfA()
	nextOfB()
	waited(t, one, 1)
	waited(t, two, 1)
	in := take(t, root(t), evidence.Request{Reason: "no answer", PIDs: []int{a.Process.Pid}})
	want := regexp.MustCompile(fmt.Sprintf(`for %s, held by pid %d \(.*\), which waits in flock\(\) for %s, held by pid %d \(.*\), which waits for it in turn: a deadlock\.`,
		two, b.Process.Pid, one, a.Process.Pid))
	if !want.MatchString(in.Finding) {
		t.Errorf("finding: %s", in.Finding)
	}
}

// Locks of every kind are told apart: who has another kind of the same file is
// not what is waited for.
func TestKindsOfLocks(t *testing.T) {
	for _, kind := range []string{"posix", "ofd"} {
		t.Run(kind, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "LOCK")
			innocent := start(t, flockOf(t), path, "sh", "-c", "echo ready; exec sleep 600")
			holder := player(t, kind, path)
			waiter := player(t, "await-"+kind, path)
			waited(t, path, 1)
			state := root(t)
			in := take(t, state, evidence.Request{Reason: "no answer", PIDs: []int{waiter.Process.Pid}})
			if want := fmt.Sprintf(" in fcntl() for %s, held by pid %d (", path, holder.Process.Pid); !strings.Contains(in.Finding, want) {
				t.Errorf("finding: %s\nwant: %s", in.Finding, want)
			}
			if text := in.Finding + file(t, state, in, "waits.txt"); strings.Contains(text, fmt.Sprintf("pid %d (", innocent.Process.Pid)) {
				t.Errorf("the holder of a flock is accused: %s", text)
			}
		})
	}
}

// processors are those that this process may use, or the first four.
func processors(t *testing.T) (all []string) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if set.IsSet(cpu) && len(all) < 4 {
			all = append(all, strconv.Itoa(cpu))
		}
	}
	return all
}

// How long it has been waiting the scheduler tells, by another clock for each processor.
func TestAgeOfAWait(t *testing.T) {
	text, err := procfs.Default().System("thread-self/sched")
	testneed.Feature(t, err == nil && strings.Contains(text, "se.exec_start"), "/proc/N/sched", "a kernel with CONFIG_SCHED_DEBUG")
	path := filepath.Join(t.TempDir(), "LOCK")
	start(t, flockOf(t), path, "sh", "-c", "echo ready; exec sleep 600")
	taskset := testneed.Program(t, "taskset", "apt-get install util-linux")
	wants := map[int]string{}
	cpus := processors(t)
	for _, n := range cpus {
		wants[begin(t, taskset, "-c", n, flockOf(t), path, "true").Process.Pid] = " It has been waiting "
		stopped := start(t, taskset, "-c", n, "sh", "-c", "echo ready; exec sleep 600")
		stopped.Process.Signal(syscall.SIGSTOP)
		wants[stopped.Process.Pid] = ", and has not run for "
	}
	waited(t, path, len(cpus))
	begun := time.Now()
	state := root(t)
	testneed.Until(t, "the wait is a second old", func() bool { return time.Since(begun) > 1200*time.Millisecond })
	for pid, want := range wants {
		in := take(t, state, evidence.Request{Reason: "no answer", PIDs: []int{pid}})
		_, after, found := strings.Cut(in.Finding, want)
		var seconds int
		if fmt.Sscanf(after, "%ds", &seconds); !found || seconds < 1 || seconds > int(time.Since(begun).Seconds())+2 {
			t.Errorf("finding: %s", in.Finding)
		}
	}
}

// A second copy of the service on the same directory is named.
func TestTwoCopies(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	sleep := func(in string) *exec.Cmd {
		cmd := start(t, "sh", "-c", `cd "$0"; echo ready; exec sleep 600`, in)
		testneed.Until(t, "it is sleep", func() bool {
			exe, err := procfs.Default().Exe(cmd.Process.Pid)
			return err == nil && filepath.Base(exe) != "sh" && !strings.Contains(exe, "dash")
		})
		return cmd
	}
	first, second, other := sleep(dir), sleep(dir), sleep(elsewhere)
	state := root(t)
	in := take(t, state, evidence.Request{Subject: dir, Reason: "no answer", PIDs: []int{first.Process.Pid}})
	for _, want := range []string{"There are 2 copies of ", fmt.Sprintf("pid %d (sleep 600) started 20", second.Process.Pid)} {
		if !strings.Contains(in.Copies, want) || !strings.Contains(file(t, state, in, "summary.md"), want) {
			t.Errorf("copies: %q lacks %q", in.Copies, want)
		}
	}
	if strings.Contains(in.Copies, fmt.Sprintf("pid %d", other.Process.Pid)) {
		t.Errorf("one that works elsewhere is a copy: %s", in.Copies)
	}
	in = take(t, state, evidence.Request{Subject: elsewhere, Reason: "no answer", PIDs: []int{other.Process.Pid}})
	if in.Copies != "" {
		t.Errorf("alone, and yet: %s", in.Copies)
	}
}

// A read that does not end shows what it reads from; a connection, who is at its
// other end.
func TestReadsAndPeers(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	defer to.Close()
	cat := exec.Command("cat")
	cat.Stdin = from
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cat.Process.Kill(); cat.Wait() })
	state := root(t)
	testneed.Until(t, "it reads", func() bool {
		in := take(t, state, evidence.Request{Reason: "no answer", PIDs: []int{cat.Process.Pid}})
		return strings.Contains(in.Finding, "It is in read() on pipe:[")
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := player(t, "connect", l.Addr().String())
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := take(t, state, evidence.Request{Reason: "no answer", PIDs: []int{client.Process.Pid}})
	want := fmt.Sprintf("-> %s  ESTABLISHED  queues (send:receive) 00000000:00000000  the other end: pid %d (", l.Addr(), os.Getpid())
	if text := file(t, state, in, "sockets.txt"); !strings.Contains(text, want) {
		t.Errorf("sockets.txt: %s\nlacks: %s", text, want)
	}
}

// Names that others chose forge no line and no sequence of a terminal.
func TestHostileNames(t *testing.T) {
	name := "LOCK\nheld by pid 1 (init)\x1b[2J\u202e"
	path := filepath.Join(t.TempDir(), name)
	start(t, flockOf(t), path, "sh", "-c", "echo ready; exec sleep 600", "x\nfake\x1b")
	waiter := begin(t, flockOf(t), path, "true")
	waited(t, path, 1)
	state := root(t)
	in := take(t, state, evidence.Request{Subject: path, Reason: "no\nanswer\x1b", PIDs: []int{waiter.Process.Pid}, Probe: []string{"a\nb"}})
	for _, part := range []string{"summary.md", "waits.txt", "processes.txt", "threads.txt", "locks.txt", "descriptors.txt", "environment.txt"} {
		text := file(t, state, in, part)
		if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\nheld by pid 1") || strings.Contains(text, "\nfake") {
			t.Errorf("%s: %q", part, text)
		}
	}
	if !strings.Contains(in.Finding, "LOCK?held by pid 1 (init)?[2J?") {
		t.Errorf("finding: %q", in.Finding)
	}
}

// A tree that dies while it is looked at: what was seen is kept, and nothing fails.
func TestTreeDiesMeanwhile(t *testing.T) {
	state := root(t)
	for range 10 {
		cmd := start(t, "sh", "-c", "sleep 600 & sleep 600 & echo ready; wait")
		pids := []int{cmd.Process.Pid}
		children, _ := procfs.Default().Children(cmd.Process.Pid)
		pids = append(pids, children...)
		go func() {
			for _, pid := range pids {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}()
		in := take(t, state, evidence.Request{Reason: "no answer", PIDs: pids})
		if in.Finding == "" || file(t, state, in, "summary.md") == "" {
			t.Errorf("%+v", in)
		}
	}
	in := take(t, state, evidence.Request{Reason: "no answer", PIDs: []int{1 << 30}})
	if !strings.Contains(in.Finding, "It has ended before it could be looked at.") {
		t.Errorf("finding: %s", in.Finding)
	}
}

// A full disk costs the evidence, and that is said; the little that fits is there.
func TestG9FullDisk(t *testing.T) {
	testneed.Root(t)
	if !inside(t, &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	state, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, make([]byte, 2<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	r := evidence.Request{Reason: "no answer", PIDs: []int{os.Getpid()}, Output: make([]byte, 64<<10)}
	in, err := evidence.Take(context.Background(), state, r)
	if !strings.Contains(fmt.Sprint(err), "no space left") || in.Finding == "" || len(in.Missing) < 10 {
		t.Errorf("full: %v, %+v", err, in)
	}
	if err := os.Truncate(fill, 1<<20-48<<10); err != nil {
		t.Fatal(err)
	}
	in, err = evidence.Take(context.Background(), state, r)
	if !strings.Contains(fmt.Sprint(err), "no space left") || !slices.ContainsFunc(in.Missing, func(m string) bool { return strings.Contains(m, "not written: ") }) {
		t.Errorf("nearly full: %v, %q", err, in.Missing)
	}
	if loaded, err := evidence.Load(state, in.ID); err != nil || loaded.Finding != in.Finding {
		t.Errorf("%+v, %v", loaded, err)
	}
}

// A disk that does not answer costs no more than the time that was given.
func TestG9HungDisk(t *testing.T) {
	testneed.Root(t)
	_, err := os.Stat("/dev/fuse")
	testneed.Feature(t, err == nil, "/dev/fuse", "modprobe fuse, or run the container with --device /dev/fuse")
	if !inside(t, &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}) {
		return
	}
	dir := t.TempDir()
	place := filepath.Join(dir, evidence.Folder)
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Mount("hung", place, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(place, unix.MNT_DETACH)
	defer unix.Close(fd) // nobody serves it: what waits for it gets an error
	state, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	begun := time.Now()
	in, err := evidence.Take(context.Background(), state, evidence.Request{Reason: "no answer", PIDs: []int{os.Getpid()}, Limit: 2 * time.Second})
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
	if !strings.Contains(fmt.Sprint(err), "did not answer in time") || in.Finding == "" || len(in.Missing) < 10 {
		t.Errorf("%v, %+v", err, in)
	}
}

// Another user sees less, and that is said.
func TestWithoutRights(t *testing.T) {
	flock := flockOf(t)
	user := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if os.Getenv(insideVar) == "" {
		testneed.Root(t)
		dir := t.TempDir()
		for d := dir; d != os.TempDir(); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("SOLEHOLD_TEST_PLACE", dir)
		path := filepath.Join(dir, "LOCK")
		holder := start(t, flock, path, "sh", "-c", "echo ready; exec sleep 600")
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
		t.Setenv("SOLEHOLD_TEST_HOLDER", fmt.Sprint(holder.Process.Pid))
	}
	if !inside(t, user) {
		return
	}
	dir := os.Getenv("SOLEHOLD_TEST_PLACE")
	path := filepath.Join(dir, "LOCK")
	waiter := begin(t, flock, path, "true")
	waited(t, path, 1)
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	state, err := os.OpenRoot(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	in := take(t, state, evidence.Request{Reason: "no answer", PIDs: []int{waiter.Process.Pid}})
	want := fmt.Sprintf(" in flock() for %s, held by what pid %s (", path, os.Getenv("SOLEHOLD_TEST_HOLDER"))
	if !strings.Contains(in.Finding, want) {
		t.Errorf("finding: %s\nwant: %s", in.Finding, want)
	}
	if text := file(t, state, in, "locks.txt"); !strings.Contains(text, "not read: ") {
		t.Errorf("locks.txt: %s", text)
	}
}

// What root takes belongs to the directory's owner, who has to read and prune it.
func TestOwnerOfAnIncident(t *testing.T) {
	testneed.Root(t)
	dir := t.TempDir()
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	state, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	in := take(t, state, evidence.Request{Reason: "x", PIDs: []int{os.Getpid()}})
	for _, name := range []string{".", in.ID, in.ID + "/summary.md", in.ID + "/waits.txt"} {
		st, err := fs.Stat(state.FS(), filepath.Join(evidence.Folder, name))
		if err != nil || st.Sys().(*syscall.Stat_t).Uid != 65534 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}

// The names of incidents decide their order and what may be pruned.
func TestOrderAndStrangers(t *testing.T) {
	state := root(t)
	var last string
	for range 12 { // within a second there are -9 and -10
		last = take(t, state, evidence.Request{Reason: "x", PIDs: []int{1 << 30}}).ID
	}
	all, err := evidence.List(state)
	if err != nil || len(all) != 12 || all[11].ID != last {
		t.Errorf("%d incidents, the last is %s, want %s: %v", len(all), all[len(all)-1].ID, last, err)
	}
	stranger := filepath.Join(evidence.Folder, "0-keep-me")
	if err := state.Mkdir(stranger, 0o700); err != nil {
		t.Fatal(err)
	}
	for range evidence.Keep {
		take(t, state, evidence.Request{Reason: "x", PIDs: []int{1 << 30}})
	}
	if _, err := state.Stat(stranger); err != nil {
		t.Errorf("what is no incident was pruned: %v", err)
	}
	if all, err = evidence.List(state); err != nil || len(all) != evidence.Keep {
		t.Errorf("%d incidents, %v", len(all), err)
	}
}
