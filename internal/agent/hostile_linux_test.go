package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

const hostileVar = "SOLEHOLD_AGENT_TEST_HOSTILE" // makes this binary a run that lies

// lie is what a run that lies has for an agent: of its own the first fields, of a victim the others.
type lie struct {
	How, Socket, URL, Dir string

	Theirs, Group string
	PID           int
	Start         uint64
}

// hostile plays a run that lies. It holds a directory of its own, and prints what it is told.
func hostile(text string) {
	var l lie
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := solehold.Acquire(context.Background(), l.Dir, nil); err != nil {
		fmt.Println(err)
		return
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: l.Socket, Net: "unix"})
	if err != nil {
		fmt.Println(err)
		return
	}
	wire.Write(withFD{conn, l.descriptor()}, l.begin())
	r := wire.NewReader(conn)
	for {
		m, err := r.Read()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(m.Kind, m.Fault, m.Text)
		if m.Kind == wire.Granted {
			wire.Write(conn, l.tree())
		}
	}
}

func (l lie) begin() wire.Message {
	m := wire.Message{Kind: wire.Start, URL: l.URL, Name: l.How, Dir: l.Dir}
	switch l.How {
	case "directory":
		m.Dir = l.Theirs
	case "sticky":
		m.Sticky = &wire.Sticky{Nonce: "n"}
	}
	return m
}

// descriptor is what is sent as that of this process.
func (l lie) descriptor() int {
	fd := -1
	switch l.How {
	case "nothing":
	case "process":
		fd, _ = unix.PidfdOpen(l.PID, 0)
	case "file":
		fd, _ = unix.Open("/proc/self/status", unix.O_RDONLY, 0)
	default:
		fd, _ = unix.PidfdOpen(os.Getpid(), 0)
	}
	return fd
}

// tree is what is named as our own.
func (l lie) tree() wire.Message {
	m := wire.Message{Kind: wire.Tree, PID: l.PID, Start: l.Start}
	if l.How == "cgroup" {
		m.PID, m.Start, m.Cgroup = 0, 0, l.Group
	}
	return m
}

// withFD sends a descriptor, if there is one.
type withFD struct {
	conn *net.UnixConn
	fd   int
}

func (w withFD) Write(p []byte) (int, error) {
	if w.fd < 0 {
		return w.conn.Write(p)
	}
	n, _, err := w.conn.WriteMsgUnix(p, unix.UnixRights(w.fd), nil)
	return n, err
}

// A run that lies about its process, directory, tree or group is refused or ended itself. Its victim is another user's run
// at the same agent.
func TestSharedByLiars(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	h := newHost(t, "x", engine(t))
	h.shared = share(t, h.base, h.url(), "--group", nogroup)
	a := h.start("--", "stubborn")
	b := a.works()
	group := a.group()
	for how, want := range map[string]string{
		"nothing":   "failed denied the agent of this host does not serve this run: no descriptor",
		"process":   "is not that of pid",
		"file":      "is not that of pid",
		"directory": "is not seen to hold",
		"tree":      "was not started by pid",
		"cgroup":    "is not the cgroup of pid",
		"sticky":    "a sticky claim is kept by an agent of its own",
	} {
		if how == "cgroup" && group == "" {
			t.Log("no cgroup of version 2 here")
			continue
		}
		liar := newHost(t, how, "127.0.0.1:1").give(as(nobody, nobody))
		l := lie{How: how, Socket: h.shared.socket, URL: h.url(), Dir: liar.dir, Theirs: h.dir, Group: group, PID: b.PID}
		st, err := procfs.Default().Stat(b.PID)
		if err != nil {
			t.Fatal(err)
		}
		l.Start = st.StartTicks
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), hostileVar+"="+string(text))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: liar.user}
		out, err := cmd.CombinedOutput()
		testneed.Until(t, how+": it is not told: "+want, func() bool { return strings.Contains(string(out)+h.shared.stderr.String(), want) })
		if ended := how == "tree" || how == "cgroup"; ended != (cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL) {
			t.Errorf("%s: %v: %s", how, err, out)
		}
	}
	if !a.isWork(b.PID) {
		t.Fatal("the victim is dead")
	}
	from := a.acted()
	testneed.Until(t, "the victim does not work", func() bool { return a.acted() > from })
	a.signal(syscall.SIGTERM)
	a.ended()
}

// group gives the directory of the cgroup of the run's command; "" where it has none.
func (r *run) group() string {
	all, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/unified/*/solehold-run-%d-*", r.cmd.Process.Pid))
	more, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/unified/solehold-run-%d-*", r.cmd.Process.Pid))
	most, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/solehold-run-%d-*", r.cmd.Process.Pid))
	for _, path := range append(append(all, more...), most...) {
		return path
	}
	return ""
}

// Connections that say nothing, half a word, garbage or a line without end hold up no renewal, and cost the agent nothing
// that lasts.
func TestSharedByNoise(t *testing.T) {
	t.Parallel()
	h := newHost(t, "x", engine(t))
	h.shared = share(t, h.base, h.url())
	a := h.start()
	b := a.works()
	l := renewed(t, h, 1)
	dial := func() net.Conn {
		c, err := net.Dial("unix", h.shared.socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	const all = 1000
	for range all {
		dial()
	}
	testneed.Until(t, "the silent stay", func() bool { return h.shared.descriptors() < 100 })
	for _, noise := range []string{"\n", "{}\n", "garbage\n", `{"v":1,"kind":"tree"}` + "\n", `{"v":1,"kind":"release"}` + "\n", "\x00\xff\xfe\n", `{"v":1,"kind":"start"`} {
		dial().Write([]byte(noise))
	}
	endless, sent := dial(), 0
	endless.SetWriteDeadline(time.Now().Add(patience))
	for chunk := make([]byte, 1<<16); sent < 1<<30; sent += len(chunk) {
		if _, err := endless.Write(chunk); err != nil {
			break
		}
	}
	if sent >= 1<<24 {
		t.Errorf("%d bytes of one line were taken", sent)
	}
	after := renewed(t, h, l.Renewals+5)
	if after.Errors != 0 || !a.isWork(b.PID) {
		t.Errorf("%+v: %s", after, a.stderr.String())
	}
	testneed.Until(t, "something is left", func() bool { return h.shared.descriptors() < 40 })
	other := newHost(t, "y", "127.0.0.1:1")
	other.shared, other.fixedURL = h.shared, h.url()
	r := other.start()
	r.works()
	for _, r := range []*run{r, a} {
		r.signal(syscall.SIGTERM)
		r.ended()
	}
}

// renewed waits until a lease was renewed so often.
func renewed(t *testing.T, h *host, times uint64) (l lease) {
	t.Helper()
	testneed.Until(t, "it is not renewed", func() bool { l, _ = h.lease(); return l.Renewals >= times })
	return l
}

// descriptors counts those of the agent.
func (s *shared) descriptors() int {
	fds, err := procfs.Default().FDs(s.cmd.Process.Pid)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(fds)
}
