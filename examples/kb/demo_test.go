//go:build linux

package main_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDemo runs `make demo`: a task and a watch start kb in the same instant, and one copy serves.
func TestDemo(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "../../cmd/solehold", "../../cmd/solehold-probe", ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	demo := exec.Command("sh", "../../scripts/demo.sh")
	demo.Env = append(os.Environ(), "BIN="+bin, "PORT="+freePort(t), "TMPDIR="+t.TempDir())
	out, err := demo.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "GOOD: 5 rounds, 5 owners") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// freePort gives a port that nobody has just now. Another test may take it meanwhile: the demo would say so.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
