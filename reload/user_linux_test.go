package reload_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

const nobody = 65534

// expect reads lines until one contains a text; a torn version is never one.
func expect(t *testing.T, out *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("%q never came: %v", want, err)
		}
		if strings.HasPrefix(line, "false") {
			t.Fatalf("torn: %s", line)
		}
		if strings.Contains(line, want) {
			return
		}
	}
}

// A file that may not be read is refused by name, and comes with the right to read.
func TestUnreadable(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	path := filepath.Join(shared(t), "conf")
	put(t, path, sealed(1))
	_, out := actor(t, "watch", nobody, path)
	expect(t, out, "permission denied")
	must(t, os.Chmod(path, 0o644))
	expect(t, out, "true \"version 1")
}

// Of another user's file no lease is given: a content counts when it has been quiet
// for some time, and none is torn beside a writer that goes on in less than that.
func TestAnotherUsersFile(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	path := filepath.Join(shared(t), "conf")
	must(t, os.WriteFile(path, []byte(sealed(0)), 0o644))
	_, out := actor(t, "watch", nobody, path)
	expect(t, out, "version 0")
	for n := 1; n <= 10; n++ {
		must(t, slowly(path, os.O_WRONLY|os.O_TRUNC, sealed(n), 3))
		expect(t, out, fmt.Sprintf("version %d\\n", n))
	}
}

// A time that a program has set, as copying does, is not taken for quiet. The twins:
// the time may be short, and the owner needs none, who has a lease.
func TestQuietIsTheKernels(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	path := filepath.Join(shared(t), "conf")
	old := time.Now().Add(-24 * time.Hour)
	must(t, os.WriteFile(path, []byte("text"), 0o644), os.Chtimes(path, old, old))
	for _, c := range []struct {
		uid   uint32
		quiet string
		want  string
	}{{nobody, "1h", "being written"}, {nobody, "1ns", `"text" <nil>`}, {0, "1h", `"text" <nil>`}} {
		_, out := actor(t, "read", c.uid, path, c.quiet)
		if line, err := out.ReadString('\n'); !strings.Contains(line, c.want) {
			t.Errorf("uid %d, %s: %q, %v", c.uid, c.quiet, line, err)
		}
	}
}

// A watcher that is stopped while more happens than the kernel keeps gets the newest
// content when it goes on, without the look now and then.
func TestQueueOverflow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "conf")
	put(t, path, sealed(1))
	cmd, out := actor(t, "watch", 0, path)
	expect(t, out, "version 1")
	must(t, cmd.Process.Signal(syscall.SIGSTOP))
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	if most > 100_000 {
		most = 100_000 // then nothing overflows, and it must arrive all the same
	}
	for i := range most/2 + 1000 { // two events each, never twice the same in a row
		must(t, os.Link(path, filepath.Join(dir, "other")), os.Remove(filepath.Join(dir, "other")))
		if i == most/4 {
			put(t, path, sealed(2))
		}
	}
	put(t, path, sealed(3))
	must(t, cmd.Process.Signal(syscall.SIGCONT))
	expect(t, out, "version 3")
}
