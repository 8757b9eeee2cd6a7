//go:build !solehold_portable

package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

// cgroupPrefix begins the names of the groups that runs make: the pid and start
// of the wrapper follow.
const cgroupPrefix = "solehold-run-"

// cgroup is a group of its own for one command, so that the kernel can kill
// everything in it at once. A nil one does nothing.
type cgroup struct {
	path string // in the file system
	own  string // as /proc/N/cgroup shows it
	fd   int
	used bool // kill was asked for
}

// newCgroup makes a group below that of this process. It is an error where
// version 2 is not mounted, or this process may not make groups: runs go
// without, then.
func newCgroup() (*cgroup, error) {
	proc := procfs.Default()
	own, err := ownGroup(proc)
	if err != nil {
		return nil, err
	}
	mount, err := cgroupMount(proc)
	if err != nil {
		return nil, err
	}
	parent := filepath.Join(mount, own)
	sweepGroups(proc, parent)
	st, err := proc.Stat(0)
	if err != nil {
		return nil, err
	}
	base := fmt.Sprintf("%s%d-%d", cgroupPrefix, st.PID, st.StartTicks)
	c := &cgroup{path: filepath.Join(parent, base), own: filepath.Join(own, base)}
	if err := os.Mkdir(c.path, 0o755); err != nil {
		return nil, err
	}
	if c.fd, err = unix.Open(c.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		os.Remove(c.path)
		return nil, err
	}
	return c, nil
}

var errNoCgroup = errors.New("no cgroup of version 2")

func ownGroup(proc procfs.FS) (string, error) {
	groups, err := proc.Cgroups(0)
	if err != nil {
		return "", err
	}
	for _, g := range groups {
		if g.Hierarchy == 0 && !strings.HasPrefix(g.Path, "/..") {
			return g.Path, nil
		}
	}
	return "", errNoCgroup
}

func cgroupMount(proc procfs.FS) (string, error) {
	mounts, err := proc.Mounts(0)
	if err != nil {
		return "", err
	}
	for _, m := range mounts {
		if m.Type == "cgroup2" && m.Root == "/" {
			return m.Point, nil
		}
	}
	return "", errNoCgroup
}

// sweepGroups removes the empty groups of wrappers that were killed. Removing a
// group that has a process is refused by the kernel.
func sweepGroups(proc procfs.FS, parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, start, ok := groupOwner(e.Name())
		if !ok {
			continue
		}
		if st, err := proc.Stat(pid); err != nil || st.StartTicks != start {
			removeGroup(filepath.Join(parent, e.Name()))
		}
	}
}

func groupOwner(name string) (pid int, start uint64, ok bool) {
	rest, ok := strings.CutPrefix(name, cgroupPrefix)
	if !ok {
		return 0, 0, false
	}
	p, s, _ := strings.Cut(rest, "-")
	pid, pidErr := strconv.Atoi(p)
	start, startErr := strconv.ParseUint(s, 10, 64)
	return pid, start, pidErr == nil && startErr == nil
}

func (c *cgroup) name() string {
	if c == nil {
		return ""
	}
	return c.own
}

// kill asks the kernel to kill everything in the group, and reports whether it
// could be asked (Linux 5.14).
func (c *cgroup) kill() bool {
	if c == nil || os.WriteFile(filepath.Join(c.path, "cgroup.kill"), []byte("1"), 0) != nil {
		return false
	}
	c.used = true
	return true
}

// renew gives a group for the next life. One that was killed cannot serve again:
// kernels (6.18) take a process that is born into it for one that has escaped, and
// kill it at birth.
func (c *cgroup) renew() *cgroup {
	if c == nil || !c.used {
		return c
	}
	c.remove()
	fresh, err := newCgroup()
	if err != nil {
		return nil // without one, then
	}
	return fresh
}

// remove removes the group, now that it is empty. The kernel takes a moment to
// notice that: its last process was reaped just now.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	unix.Close(c.fd)
	for wait := time.Millisecond; wait < 100*time.Millisecond; wait *= 2 {
		if err := removeGroup(c.path); !errors.Is(err, unix.EBUSY) {
			return
		}
		time.Sleep(wait)
	}
}

// removeGroup also removes the groups that were made below, by a run in the
// command for example. It removes nothing that has a process.
func removeGroup(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			removeGroup(filepath.Join(path, e.Name()))
		}
	}
	return unix.Rmdir(path)
}
