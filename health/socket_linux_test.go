package health_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

func TestUnixTellsWhoListens(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "s"), "@solehold-health-test"} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		r := within(ample, must(t)(health.Unix(path)))
		want(t, r, health.OK, "unix connected")
		if r.Peer.PID != os.Getpid() || r.Peer.Path != path {
			t.Errorf("%+v, want pid %d at %s", r.Peer, os.Getpid(), path)
		}
	}
}

// TestUnixQueueFull has a service that takes no connections any more.
func TestUnixQueueFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	p := must(t)(health.Unix(path))
	want(t, within(ample, p), health.OK, "unix connected") // it waits in the queue, although closed
	want(t, within(ample, p), health.Fail, "queue of waiting connections is full")
}

// TestNoDescriptorLeft takes all descriptors of this process: the probe is starved, not the service.
func TestNoDescriptorLeft(t *testing.T) {
	addr := serve(t, silent)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	probes := []health.Probe{
		must(t)(health.TCP(addr)), must(t)(health.Unix(path)), must(t)(health.HTTP("http://"+addr, health.HTTPOptions{})),
		must(t)(health.Exec([]string{"true"}, health.ExecOptions{})),
	}
	before := used()
	want(t, within(ample, probes[0]), health.OK, "") // whatever is opened once is open
	testneed.Until(t, "all closed", func() bool { return used().descriptors <= before.descriptors })
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	var taken []*os.File
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
		for _, f := range taken {
			f.Close()
		}
	}()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 128, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	for _, p := range probes {
		want(t, within(ample, p), health.Unknown, "too many open files")
	}
}

// TestHangCostsOneDescriptor has two descriptors of one connection, as the server is in this process too.
func TestHangCostsOneDescriptor(t *testing.T) {
	arrived, free := make(chan struct{}), make(chan struct{})
	addr := serve(t, func(c net.Conn) { readRequest(c); arrived <- struct{}{}; <-free })
	p := must(t)(health.HTTP("http://"+addr, health.HTTPOptions{}))
	before := used()
	answer := make(chan health.Result)
	go func() { answer <- within(ample, p) }()
	<-arrived
	if now := used(); now.descriptors > before.descriptors+2 {
		t.Errorf("%d descriptors before, %d while it hangs", before.descriptors, now.descriptors)
	}
	close(free)
	want(t, <-answer, health.Fail, "closed without an answer")
	testneed.Until(t, "all closed", func() bool { return used().descriptors <= before.descriptors })
}
