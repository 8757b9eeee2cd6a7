//go:build !solehold_portable

package supervise_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// narrow makes a group of version 1 or 2 with little memory; "" where that cannot be.
func narrow(t *testing.T) string {
	t.Helper()
	proc := procfs.Default()
	groups, err := proc.Cgroups(0)
	must(t, err)
	mounts, err := proc.Mounts(0)
	must(t, err)
	name := "solehold-test-" + itoa(os.Getpid())
	for _, g := range groups {
		for _, m := range mounts {
			v1 := m.Type == "cgroup" && strings.HasSuffix(m.Point, "/memory") && len(g.Controllers) == 1 && g.Controllers[0] == "memory"
			if !v1 && (m.Type != "cgroup2" || g.Hierarchy != 0) {
				continue
			}
			// Below us or at the top, where version 2 has its controllers switched on.
			for _, path := range []string{filepath.Join(m.Point, g.Path, name), filepath.Join(m.Point, name)} {
				if limited(t, path) {
					return path
				}
			}
		}
	}
	return ""
}

// limited makes one group, if its memory can be limited.
func limited(t *testing.T, path string) bool {
	t.Helper()
	if os.Mkdir(path, 0o755) != nil {
		return false
	}
	t.Cleanup(func() {
		testneed.Until(t, "the group is empty", func() bool { return unix.Rmdir(path) == nil })
	})
	set := func(file, text string) bool { return os.WriteFile(filepath.Join(path, file), []byte(text), 0) == nil }
	if !set("memory.limit_in_bytes", "20M") && !set("memory.max", "20M") {
		return false
	}
	_ = set("memory.memsw.limit_in_bytes", "20M") || set("memory.swap.max", "0") // where there is swap
	return true
}

// A kill for want of memory is told from any other.
func TestKillForWantOfMemoryIsNamed(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	unix.Close(fd)
	ns, nsErr := procfs.Default().Namespace(0, "pid")
	testneed.Feature(t, err == nil && nsErr == nil && ns == 0xEFFFFFFC, "the kernel's log", "run the tests outside of a container, or with --pid=host and CAP_SYSLOG")
	group := narrow(t)
	testneed.Feature(t, group != "", "a memory controller", "mount one: mount -t cgroup -o memory none /sys/fs/cgroup/memory")
	s := newSite(t)
	r := s.sh(nil, fmt.Sprintf("echo $$ >%s/cgroup.procs && exec tail /dev/zero", group))
	r.dies(syscall.SIGKILL)
	if end := s.await(journal.ChildExited, 1); !strings.Contains(end.Detail, "killed by the kernel for want of memory") {
		t.Errorf("the end: %s", end.Detail)
	}
	// The same process under the same name, killed by somebody.
	s = newSite(t)
	r = s.sh(nil, fmt.Sprintf("echo $$ >%s/cgroup.procs && exec tail -f /dev/null", group))
	must(t, syscall.Kill(leader(r), syscall.SIGKILL))
	r.dies(syscall.SIGKILL)
	if end := s.await(journal.ChildExited, 1); !strings.Contains(end.Detail, "killed by SIGKILL") || strings.Contains(end.Detail, "memory") {
		t.Errorf("the end: %s", end.Detail)
	}
}
