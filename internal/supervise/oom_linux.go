//go:build !solehold_portable

package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// initPIDNS is the fixed inode of the first pid namespace (linux/proc_ns.h), in
// whose numbers the kernel's log speaks.
const initPIDNS = 0xEFFFFFFC

// oom proves that the kernel killed the command for want of memory: by the
// count of such kills in the command's own cgroup, or by the kernel's log, which
// names the process. Empty where there is no proof.
func (r *runner) oom() string {
	if n := r.group.ooms(); n > r.ooms {
		return "its cgroup counts it"
	}
	ns, err := r.tree.proc.Namespace(0, "pid")
	if err != nil || ns != initPIDNS {
		return ""
	}
	return loggedOOM(r.child.pid, r.started)
}

// ooms counts the kills for want of memory in the group; 0 where the kernel does
// not count them there.
func (c *cgroup) ooms() int {
	if c == nil {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(c.path, "memory.events"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// loggedOOM looks for the kill of a process in the kernel's log since a time. It
// needs the right to read that.
func loggedOOM(pid int, since time.Time) string {
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	from := time.Duration(now.Nano()) - time.Since(since)
	deadline := time.Now().Add(200 * time.Millisecond)
	buf := make([]byte, 8192)
	for time.Now().Before(deadline) {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EPIPE || err == unix.EINTR: // EPIPE: the log has overtaken us
			continue
		case err != nil || n == 0:
			return ""
		case isOOM(string(buf[:n]), pid, from):
			return "the kernel's log names it"
		}
	}
	return ""
}

// isOOM reads one record: "priority,number,microseconds,flags;text".
func isOOM(record string, pid int, from time.Duration) bool {
	head, text, _ := strings.Cut(record, ";")
	f := strings.Split(head, ",")
	if len(f) < 3 {
		return false
	}
	usec, err := strconv.ParseInt(f[2], 10, 64)
	text, _, _ = strings.Cut(text, "\n")
	return err == nil && time.Duration(usec)*time.Microsecond >= from &&
		strings.Contains(text, "ut of memory") && strings.Contains(text, fmt.Sprintf("Killed process %d (", pid))
}
