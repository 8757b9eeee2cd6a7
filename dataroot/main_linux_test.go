package dataroot_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/solehold/solehold/dataroot"
	"golang.org/x/sys/unix"
)

// roleVar set, the test binary is one of the actors. Its arguments are a base, the
// pins and what the role takes.
const roleVar = "DATAROOT_TEST_ROLE"

func TestMain(m *testing.M) {
	act, ok := map[string]func(base, pins, arg string){"hold": hold, "race": race, "churn": churn, "collect": collect, "write": write}[os.Getenv(roleVar)]
	if !ok {
		os.Exit(m.Run())
	}
	act(os.Args[1], os.Args[2], os.Args[3])
}

// hold opens a root and keeps it.
func hold(base, pins, name string) {
	_, err := dataroot.Open(context.Background(), base, name, &dataroot.Options{Ephemeral: true, Pins: pins})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	untilKilled()
}

// race opens s0 to s99, beginning somewhere, says which it got, and keeps them.
func race(base, pins, from string) {
	n, _ := strconv.Atoi(from)
	for i := range 100 {
		name := fmt.Sprintf("s%d", (n+i)%100)
		if _, err := dataroot.Open(context.Background(), base, name, &dataroot.Options{Pins: pins}); err == nil {
			fmt.Println("got", name)
		}
	}
	fmt.Println("done")
	untilKilled()
}

// churn opens ephemeral roots, uses and closes them, and says a dot for each step.
// It shouts when one is taken from it.
func churn(base, pins, prefix string) {
	for i := 0; ; i++ {
		r, err := dataroot.Open(context.Background(), base, fmt.Sprintf("%s%d", prefix, i%3), &dataroot.Options{Ephemeral: true, Pins: pins})
		fmt.Print(".")
		if err != nil {
			continue // a collector has it just now
		}
		err = r.WriteFile("a/x", []byte(strconv.Itoa(i)))
		fmt.Print(".")
		text, readErr := fs.ReadFile(r, "a/x")
		if _, there := os.Stat(filepath.Join(r.Dir(), "a/x")); err != nil || readErr != nil || there != nil || string(text) != strconv.Itoa(i) {
			fmt.Print("taken from its owner: ", r.Dir(), err, readErr, there)
		}
		r.Close()
		fmt.Print(".")
	}
}

// collect runs GC for ever.
func collect(base, _, _ string) {
	for {
		dataroot.GC(context.Background(), base, false, nil)
		fmt.Print(".")
	}
}

// write gives a file ever new content and says its number when it is there.
func write(base, pins, from string) {
	r, err := dataroot.Open(context.Background(), base, "kb", &dataroot.Options{Pins: pins})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for n, _ := strconv.Atoi(from); ; n++ {
		if err := r.WriteFile("a/b/x", sealed(n)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// sealed is a content from which its number can be told, and whether it is whole.
func sealed(n int) []byte {
	body := fmt.Sprintf("%d %s", n, strings.Repeat("x", n%7*10_000))
	return fmt.Appendf(nil, "%x %s", sha256.Sum256([]byte(body)), body)
}

func unsealed(t *testing.T, text []byte) (n int) {
	t.Helper()
	sum, body, _ := strings.Cut(string(text), " ")
	if sum != fmt.Sprintf("%x", sha256.Sum256([]byte(body))) {
		t.Fatalf("torn: %d bytes", len(text))
	}
	fmt.Sscan(body, &n)
	return n
}

// actor is a process with a role.
func actor(t *testing.T, role string, change func(*exec.Cmd), args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	if change != nil {
		change(cmd)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewReader(out)
}

// holder is a process that has a root open.
func holder(t *testing.T, base, pins, name string) *exec.Cmd {
	t.Helper()
	return holderAs(t, nil, base, pins, name)
}

func holderAs(t *testing.T, change func(*exec.Cmd), base, pins, name string) *exec.Cmd {
	t.Helper()
	cmd, out := actor(t, "hold", change, base, pins, name)
	if line, err := out.ReadString('\n'); line != "open\n" {
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

// untilKilled waits for ever: a pause alone returns for each signal that the runtime sends itself.
func untilKilled() {
	for {
		unix.Pause()
	}
}
