package testneed

import (
	"net"
	"testing"
	"time"
)

// patience is how long a test waits for what must come. It is no measure of speed: machines that run tests are busy.
const patience = 2 * time.Minute

// Until needs what to come true, which no event tells of: the state of another process, say. It asks again and again.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !ok(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// Port needs a TCP port of this machine that nobody has just now.
func Port(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
