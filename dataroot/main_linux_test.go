package dataroot_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/solehold/solehold/dataroot"
	"golang.org/x/sys/unix"
)

// holdVar set, the test binary opens the root that its arguments name and keeps it.
const holdVar = "DATAROOT_TEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdVar) == "" {
		os.Exit(m.Run())
	}
	base, pins, name := os.Args[1], os.Args[2], os.Args[3]
	_, err := dataroot.Open(context.Background(), base, name, &dataroot.Options{Ephemeral: true, Pins: pins})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	unix.Pause()
}

// holder is a process that has a root open.
func holder(t *testing.T, base, pins, name string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, base, pins, name)
	cmd.Env = append(os.Environ(), holdVar+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "open\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return cmd
}

// at is a base for roots, with its pins apart.
func at(t *testing.T) (base, pins string) {
	t.Helper()
	return t.TempDir(), t.TempDir()
}

func open(t *testing.T, base, name string, o *dataroot.Options) *dataroot.Root {
	t.Helper()
	r, err := dataroot.Open(t.Context(), base, name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
