package engine_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/solehold/solehold/internal/drill/engine"
	"github.com/solehold/solehold/internal/testneed"
)

const insideVar = "SOLEHOLD_ENGINE_TEST_INSIDE" // this process has a network of its own

const at = "127.0.0.1:2379"

// TestServe grants a lease of a few seconds, as drills take it, in a network of its own; a second one has no room there.
func TestServe(t *testing.T) {
	testneed.Root(t)
	ip := testneed.Program(t, "ip", "apt-get install iproute2")
	if os.Getenv(insideVar) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestServe$", "-test.v")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		cmd.Env = append(os.Environ(), insideVar+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if out, err := exec.Command(ip, "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	in, ready := io.Pipe()
	go func() { ready.CloseWithError(engine.Serve(t.TempDir(), at, ready)) }()
	if line, err := bufio.NewReader(in).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{at}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	const ttl = 5
	lease, err := c.Grant(ctx, ttl)
	if err != nil || lease.TTL != ttl {
		t.Fatalf("%+v, %v", lease, err)
	}
	if err := engine.Serve(t.TempDir(), at, io.Discard); err == nil || !strings.Contains(err.Error(), "etcd at "+at) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second one: %v", err)
	}
}
