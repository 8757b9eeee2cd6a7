package sdnotify_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/sdnotify"
	"golang.org/x/sys/unix"
)

func listen(t *testing.T) *sdnotify.Socket {
	t.Helper()
	s, err := sdnotify.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func dial(t *testing.T, name string) *sdnotify.Upstream {
	t.Helper()
	u, err := sdnotify.Dial(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	return u
}

// A message passes with its lines in order, the sender's pid as the kernel says
// it, and a descriptor that still works on the other side.
func TestRelay(t *testing.T) {
	s := listen(t)
	u := dial(t, s.Name())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := u.Send(sdnotify.Message{Lines: []string{"BARRIER=1", "STATUS=x"}, FDs: []int{int(w.Fd())}}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	m, pid, err := s.Receive()
	if err != nil || string(m.Text()) != "BARRIER=1\nSTATUS=x" || pid != os.Getpid() || len(m.FDs) != 1 {
		t.Fatalf("%+v from %d, %v", m, pid, err)
	}
	got := os.NewFile(uintptr(m.FDs[0]), "pipe")
	if _, err := got.WriteString("through"); err != nil {
		t.Fatal(err)
	}
	got.Close()
	text, err := io.ReadAll(r)
	if err != nil || string(text) != "through" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestDropClosesDescriptors(t *testing.T) {
	s := listen(t)
	u := dial(t, s.Name())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := u.Send(sdnotify.Message{Lines: []string{"FDSTORE=1"}, FDs: []int{int(w.Fd())}}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	m, _, err := s.Receive()
	if err != nil {
		t.Fatal(err)
	}
	m.Drop()
	if text, err := io.ReadAll(r); err != nil || len(text) != 0 { // the end is only seen when no writer is left
		t.Errorf("%q, %v", text, err)
	}
}

// A manager that never reads, or is gone, costs the message and an error, never
// the time of the one who speaks.
func TestSendNeverBlocks(t *testing.T) {
	s := listen(t)
	u := dial(t, s.Name())
	var err error
	for range 10_000 {
		if err = u.Say("STATUS=" + strings.Repeat("x", 1000)); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Errorf("a full socket: %v, want EAGAIN", err)
	}
	gone := dial(t, filepath.Join(t.TempDir(), "gone"))
	if err := gone.Say("READY=1"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a missing socket: %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	u := dial(t, "")
	if err := errors.Join(u.Say("READY=1"), u.Close()); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsReceive(t *testing.T) {
	s := listen(t)
	done := make(chan error)
	go func() {
		_, _, err := s.Receive()
		done <- err
	}()
	s.Close()
	if err := <-done; err == nil {
		t.Error("received from a closed socket")
	}
}

func TestPathSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := dial(t, path).Say("READY=1"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	if n, err := unix.Read(fd, buf); err != nil || string(buf[:n]) != "READY=1" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}
