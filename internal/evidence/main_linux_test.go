package evidence_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	partVar   = "SOLEHOLD_TEST_PART"   // set, a copy of the test binary plays the part that its arguments name
	insideVar = "SOLEHOLD_TEST_INSIDE" // the test that a copy runs in another place
)

func TestMain(m *testing.M) {
	if os.Getenv(partVar) == "" {
		os.Exit(m.Run())
	}
	play(os.Args[1], os.Args[2])
}

// play opens a file or an address, says "ready" and stays: with a lock of a kind,
// or waiting for one.
func play(part, where string) {
	if part == "connect" {
		conn, err := net.Dial("tcp", where)
		if err == nil {
			fmt.Println("ready")
			conn.Read(make([]byte, 1))
		}
		return
	}
	fd, err := unix.Open(where, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := map[string]int{"posix": unix.F_SETLK, "ofd": unix.F_OFD_SETLK, "await-posix": unix.F_SETLKW, "await-ofd": unix.F_OFD_SETLKW}[part]
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 10, Len: 5}
	if strings.HasPrefix(part, "await") {
		fmt.Println("ready")
	}
	if err := unix.FcntlFlock(uintptr(fd), cmd, &lock); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	for {
		unix.Pause() // it returns for each signal that the runtime sends itself
	}
}

// player starts a copy that plays a part.
func player(t *testing.T, part, where string) *exec.Cmd {
	t.Helper()
	t.Setenv(partVar, "1") // inherited
	defer os.Unsetenv(partVar)
	return start(t, "/proc/self/exe", part, where)
}

// inside reports whether this is the copy of the test that runs in another place;
// in the first copy it starts the other one and takes over its outcome.
func inside(t *testing.T, attr *syscall.SysProcAttr) bool {
	t.Helper()
	if os.Getenv(insideVar) == t.Name() {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), insideVar+"="+t.Name(), "GORACE=atexit_sleep_ms=0")
	cmd.Dir, cmd.SysProcAttr = "/", attr
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("inside: %v\n%s", err, out)
	}
	return false
}
