package drill_test

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold/internal/drill"
)

// proc is a made-up /proc that is put together from parts.
type proc struct{ fstest.MapFS }

func newProc() proc { return proc{fstest.MapFS{}} }

func (p proc) file(name, text string) { p.MapFS[name] = &fstest.MapFile{Data: []byte(text)} }

func (p proc) link(name, target string) {
	p.MapFS[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
}

// process adds a process of one thread.
func (p proc) process(pid, parent int, state string) {
	stat := fmt.Sprintf("%d (a) b) %s %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", pid, state, parent, 100+pid)
	p.file(fmt.Sprintf("%d/stat", pid), stat)
	p.file(fmt.Sprintf("%d/task/%d/stat", pid, pid), stat)
	p.file(fmt.Sprintf("%d/task/%d/children", pid, pid), "")
	p.file(fmt.Sprintf("%d/wchan", pid), "0")
	p.MapFS[fmt.Sprintf("%d/fd", pid)] = &fstest.MapFile{Mode: fs.ModeDir}
}

// open adds a descriptor; flags are octal, as the kernel writes them.
func (p proc) open(pid, fd int, target, flags string, more ...string) {
	p.link(fmt.Sprintf("%d/fd/%d", pid, fd), target)
	p.file(fmt.Sprintf("%d/fdinfo/%d", pid, fd), "pos:\t0\nflags:\t"+flags+"\nmnt_id:\t29\n"+strings.Join(more, ""))
}

const (
	readOnlyFlags  = "0100000"
	writeOnlyFlags = "0100001"
	bothFlags      = "0100002"
)

func inode(n int) string { return fmt.Sprintf("ino:\t%d\n", n) }

// whole and part are locks of a file as fdinfo shows them.
func whole(n int) string {
	return fmt.Sprintf("lock:\t1: FLOCK  ADVISORY  WRITE 7 08:01:%d 0 EOF\n", n)
}

func part(n int) string {
	return fmt.Sprintf("lock:\t1: POSIX  ADVISORY  WRITE 7 08:01:%d 100 200\n", n)
}

func shared(n int) string {
	return fmt.Sprintf("lock:\t1: FLOCK  ADVISORY  READ 7 08:01:%d 0 EOF\n", n)
}

func facts(t *testing.T, e *drill.Eye, pid int, want ...string) {
	t.Helper()
	got, err := e.Facts(pid)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("pid %d: %q, error %v; want %q", pid, got, err, want)
	}
}

func TestWhatIsOpenForWritingCounts(t *testing.T) {
	p := newProc()
	p.process(7, 1, "S")
	p.open(7, 0, "/dev/null", bothFlags, inode(1))
	p.open(7, 3, "/d/a.db", bothFlags, inode(11))
	p.open(7, 4, "/d/sub/b.wal", writeOnlyFlags, inode(12))
	p.open(7, 5, "/d/read", readOnlyFlags, inode(13))
	p.open(7, 6, "/d2/other", bothFlags, inode(14))
	p.open(7, 8, "/d/gone (deleted)", bothFlags, inode(15))
	p.open(7, 9, "/d/.solehold/history.jsonl", writeOnlyFlags, inode(16))
	p.open(7, 10, "/d/sub/.solehold/lock", bothFlags, inode(17))
	p.open(7, 11, "/d/kb.log", writeOnlyFlags, inode(18))
	p.open(7, 12, "/d", readOnlyFlags, inode(19))
	p.open(7, 13, "pipe:[99]", writeOnlyFlags)
	facts(t, drill.NewEye(p, "/d", "*.log"), 7,
		"has a.db open for writing", "has sub/b.wal open for writing", "has gone open for writing")
	facts(t, drill.NewEye(p, "/d2"), 7, "has other open for writing")
	facts(t, drill.NewEye(p, "/nowhere"), 7)
}

// TestLockedFileCountsForItsHolder has a file open by two, of whom one has it locked: the other one is on its way out.
func TestLockedFileCountsForItsHolder(t *testing.T) {
	p := newProc()
	for pid, lock := range map[int]string{7: whole(11), 8: "", 9: part(12), 10: part(12), 12: shared(13), 13: ""} {
		p.process(pid, 1, "S")
		n := map[int]int{7: 11, 8: 11, 9: 12, 10: 12, 12: 13, 13: 13}[pid]
		p.open(pid, 3, fmt.Sprintf("/d/f%d", n), bothFlags, inode(n), lock)
	}
	e := drill.NewEye(p, "/d")
	facts(t, e, 8, "has f11 open for writing") // nobody is known to have it locked yet
	facts(t, e, 7, "has f11 open for writing")
	facts(t, e, 8, "(has f11 open for writing)")
	// Locks of a part, as SQLite takes, and shared ones keep nobody out who has the file open.
	for _, pid := range []int{9, 10} {
		facts(t, e, pid, "has f12 open for writing")
	}
	for _, pid := range []int{12, 13} {
		facts(t, e, pid, "has f13 open for writing")
	}
}

const (
	tcpHead  = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	unixHead = "Num       RefCount Protocol Flags    Type St Inode Path\n"
)

func TestListeningSocketsCount(t *testing.T) {
	p := newProc()
	p.process(7, 1, "S")
	for fd, n := range []int{41, 42, 43, 44, 45} {
		p.open(7, fd, fmt.Sprintf("socket:[%d]", n), bothFlags)
	}
	p.file("7/net/tcp", tcpHead+
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 41 1 0 100 0 0 10 0\n"+
		"   1: 0100007F:1F91 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 42 1 0 100 0 0 10 0\n")
	p.file("7/net/tcp6", tcpHead+
		"   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 43 1 0 100 0 0 10 0\n")
	p.file("7/net/unix", unixHead+
		"0000000000000000: 00000002 00000000 00010000 0001 01 44 /d/a socket\n"+
		"0000000000000000: 00000003 00000000 00000000 0001 03 45\n")
	e := drill.NewEye(p, "/d")
	want := []string{"listens on tcp port 8080", "listens on tcp6 port 80", "listens on unix /d/a socket"}
	facts(t, e, 7, want...)
	// What is known to listen is not looked up again.
	for _, kind := range []string{"tcp", "tcp6", "unix"} {
		delete(p.MapFS, "7/net/"+kind)
	}
	facts(t, e, 7, want...)
	if e.Gap() != nil {
		t.Errorf("gap %v", e.Gap())
	}
}

// TestSocketBecomesListening has a socket that does not listen at the first look.
func TestSocketBecomesListening(t *testing.T) {
	p := newProc()
	p.process(7, 1, "S")
	p.open(7, 3, "socket:[44]", bothFlags)
	p.file("7/net/unix", unixHead+"0: 00000002 00000000 00000000 0001 01 44 /d/s\n")
	e := drill.NewEye(p, "/d")
	facts(t, e, 7)
	p.file("7/net/unix", unixHead+"0: 00000002 00000000 00010000 0001 01 44 /d/s\n")
	facts(t, e, 7, "listens on unix /d/s")
}

// TestSocketsOfTwoNetworks has two processes that listen, each in a network of its own with a list of its own.
func TestSocketsOfTwoNetworks(t *testing.T) {
	p := newProc()
	for pid, network := range map[int]string{7: "net:[1]", 8: "net:[2]"} {
		p.process(pid, 1, "S")
		p.open(pid, 3, fmt.Sprintf("socket:[%d]", 40+pid), bothFlags)
		p.link(fmt.Sprintf("%d/ns/net", pid), network)
		p.file(fmt.Sprintf("%d/net/unix", pid), unixHead+fmt.Sprintf("0: 00000002 00000000 00010000 0001 01 %d /d/%d\n", 40+pid, pid))
	}
	e := drill.NewEye(p, "/d")
	if got := e.Look(7, 8); !slices.Equal(got, []string{"listens on unix /d/7", "listens on unix /d/8"}) {
		t.Errorf("in one look: %q", got)
	}
}

// TestUnreadableSocketsAreTold has a list that is too long to be read.
func TestUnreadableSocketsAreTold(t *testing.T) {
	p := newProc()
	p.process(7, 1, "S")
	p.open(7, 3, "socket:[44]", bothFlags)
	p.file("7/net/tcp", strings.Repeat("x", 2<<20))
	e := drill.NewEye(p, "/d")
	facts(t, e, 7)
	if e.Gap() == nil {
		t.Error("no gap")
	}
}

func TestListenerLines(t *testing.T) {
	for _, c := range []struct {
		kind, line string
		inode      uint64
		at         string
	}{
		{"tcp", "0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 0 0 41 1", 41, "tcp port 8080"},
		{"tcp", "0: 0100007F:1F90 00000000:0000 01 0:0 00:0 0 0 0 41 1", 0, ""},
		{"tcp", "0: 0100007F:1F90 00000000:0000 0A 0:0 00:0 0 0 0 x 1", 0, ""},
		{"tcp", "0: 0100007F:FFFFF 00000000:0000 0A 0:0 00:0 0 0 0 41 1", 0, ""},
		{"tcp", "0: 0100007F 00000000:0000 0A 0:0 00:0 0 0 0 41 1", 0, ""},
		{"tcp", "0: 0100007F:1F90 00000000:0000 0A", 0, ""},
		{"tcp", "", 0, ""},
		{"unix", "0: 2 0 00010000 1 1 44 /s", 44, "unix /s"},
		{"unix", "0: 2 0 00010000 1 1 44", 44, "unix"},
		{"unix", "0: 2 0 00010000 1 1 44 @abstract name", 44, "unix @abstract name"},
		{"unix", "0: 2 0 00000000 1 1 44 /s", 0, ""},
		{"unix", "0: 2 0 00010000 1 1 -4 /s", 0, ""},
		{"unix", "0: 2 0", 0, ""},
		{"unix", "Num RefCount Protocol Flags Type St Inode Path", 0, ""},
	} {
		if n, at := drill.Listener(c.kind, strings.Fields(c.line)); n != c.inode || at != c.at {
			t.Errorf("%s %q: %d %q, want %d %q", c.kind, c.line, n, at, c.inode, c.at)
		}
	}
}

func TestOurs(t *testing.T) {
	e := drill.NewEye(newProc(), "/d", "*.log", "log/*", "[")
	for path, want := range map[string]string{
		"/d/a": "a", "/d/a/b": "a/b", "/d/a (deleted)": "a", "/d/solehold": "solehold", "/d/.soleholds/x": ".soleholds/x",
		"/d/a.log/b": "a.log/b", "/d/sub/a.log": "sub/a.log", // a pattern is for the whole name, as in filepath.Match
	} {
		if got, ok := e.Ours(path); !ok || got != want {
			t.Errorf("%s: %q %v, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"", "/", "/d", "/dd/a", "/d/.solehold/lock", "/d/a/.solehold/x/y", "/d/a.log", "/d/log/x", "/d/.solehold-drill-fill", "socket:[1]", "pipe:[/d/a]"} {
		if got, ok := e.Ours(path); ok {
			t.Errorf("%q is taken for data: %q", path, got)
		}
	}
}

func TestWaiters(t *testing.T) {
	p := newProc()
	for pid, where := range map[int]string{7: "locks_lock_inode_wait", 8: "flock_lock_inode_wait", 9: "fcntl_setlk", 10: "ep_poll", 11: "0"} {
		p.process(pid, 1, "S")
		p.file(fmt.Sprintf("%d/wchan", pid), where)
	}
	e := drill.NewEye(p, "/d")
	for pid, want := range map[int]bool{7: true, 8: true, 9: true, 10: false, 11: false, 99: false} {
		if got := e.Waits(pid); got != want {
			t.Errorf("pid %d waits: %v", pid, got)
		}
	}
}

// TestEventDrivenWaiter has two that watch the lock file: who has it locked, and who waits for that to end.
func TestEventDrivenWaiter(t *testing.T) {
	p := newProc()
	for _, pid := range []int{7, 8, 9} {
		p.process(pid, 1, "S")
		p.open(pid, 5, "anon_inode:inotify", readOnlyFlags, "inotify wd:1 ino:b sdev:800001 mask:8 ignored_mask:0\n")
	}
	p.open(7, 4, "/d/.solehold/lock", bothFlags, inode(11), part(11))
	p.open(9, 5, "anon_inode:inotify", readOnlyFlags, "inotify wd:1 ino:c sdev:800001 mask:8 ignored_mask:0\n")
	p.file("locks", "1: OFDLCK ADVISORY  WRITE -1 08:01:11 4611686018427387904 4611686018427387904\n2: POSIX  ADVISORY  READ 5 08:01:12 0 EOF\n")
	e := drill.NewEye(p, "/d")
	for pid, want := range map[int]bool{7: false, 8: true, 9: false} {
		if got := e.Waits(pid); got != want {
			t.Errorf("pid %d waits: %v", pid, got)
		}
	}
	delete(p.MapFS, "locks")
	if e.Waits(8) {
		t.Error("without the list of locks nobody is known to wait")
	}
}

func TestBusy(t *testing.T) {
	p := newProc()
	for pid, state := range map[int]string{7: "S", 8: "R", 9: "D", 10: "T", 11: "Z"} {
		p.process(pid, 1, state)
	}
	p.process(12, 1, "S")
	p.file("12/task/13/stat", "13 (worker) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n")
	e := drill.NewEye(p, "/d")
	for pid, want := range map[int]bool{7: false, 8: true, 9: true, 10: false, 11: false, 12: true} {
		if got := e.Busy(pid); got != want {
			t.Errorf("pid %d is busy: %v", pid, got)
		}
	}
}

// TestBelow has a tree with a zombie, a pid that is another's by now, and one that is its own ancestor.
func TestBelow(t *testing.T) {
	p := newProc()
	for pid, parent := range map[int]int{10: 1, 11: 10, 12: 10, 13: 11, 14: 13, 15: 12, 16: 99} {
		p.process(pid, parent, map[int]string{12: "Z"}[pid]+map[bool]string{true: "", false: "S"}[pid == 12])
	}
	for pid, children := range map[int]string{10: "11 12 16 77 ", 11: "13 ", 13: "14 ", 12: "15 "} {
		p.file(fmt.Sprintf("%d/task/%d/children", pid, pid), children)
	}
	e := drill.NewEye(p, "/d")
	if got := fmt.Sprint(e.Below(10)); got != "[11 13 15 14]" {
		t.Errorf("below 10: %v", got)
	}
	if got := e.Below(14); len(got) != 0 {
		t.Errorf("below a leaf: %v", got)
	}
	if got := e.Below(4711); len(got) != 0 {
		t.Errorf("below nobody: %v", got)
	}
}

// TestEndedProcessHasNothing looks at one that is not there.
func TestEndedProcessHasNothing(t *testing.T) {
	if _, err := drill.NewEye(newProc(), "/d").Facts(7); err == nil {
		t.Error("no error")
	}
}
