package supervise_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// boot, below unshare --mount, makes systemd the first process of namespaces of its own, over a copy of
// the file system of which nothing is kept: boot BASE TOOLS. It has a cgroup of its
// own, BASE's name, which is removed when all of it is dead.
const boot = `set -e
base=$1 tools=$2 group=$base/cgroup/solehold-test-$$
mkdir -p "$base/cgroup" "$base/layers"
mount --make-rprivate /
mount -t cgroup2 none "$base/cgroup"
mkdir "$group"
trap 'until rmdir $(find "$group" -depth -type d) 2>/dev/null; do sleep 0.05; [ -d "$group" ] || break; done' EXIT
sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" \
unshare --mount --pid --fork --kill-child --uts --ipc --cgroup sh -ec '
mount -t tmpfs tmpfs "$1/layers"
mkdir "$1/layers/up" "$1/layers/work" "$1/layers/root"
root=$1/layers/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/layers/up,workdir=$1/layers/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
for shared in "$1" "$2"; do mkdir -p "$root$shared"; mount --bind "$shared" "$root$shared"; done
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
for other in systemd-udevd systemd-networkd systemd-logind systemd-tmpfiles-setup getty@tty1 dbus cron; do
	ln -sf /dev/null "$root/etc/systemd/system/$other.service"
done
cp "$1/kb.service" "$root/etc/systemd/system/kb.service"
export container=lxc
exec chroot "$root" /lib/systemd/systemd --system --unit=basic.target --show-status=0' sh "$base" "$tools" <&- &
child=$!
trap 'kill -9 $child' TERM
wait $child || wait $child || :
`

// manager is a systemd that a test has for itself.
type manager struct {
	*yard
	pid int // of its first process
}

// newManager boots one that knows the unit kb.service.
func newManager(t *testing.T) *manager {
	t.Helper()
	testneed.Root(t)
	testneed.Program(t, "systemctl", "apt-get install systemd")
	testneed.Program(t, "nsenter", "apt-get install util-linux")
	testneed.Feature(t, exec.Command("unshare", "--mount", "mount", "-t", "cgroup2", "none", "/mnt").Run() == nil, "cgroups of version 2", "boot a kernel that has them")
	y := newYard(t)
	unit := "[Service]\nTimeoutStopSec=60\nExecStart=" + tool + " run " + y.dir + " -- " + y.service + " unit\n"
	must(t, os.WriteFile(y.path("kb.service"), []byte(unit), 0o644))
	r := y.start([]how{ownMounts}, "/bin/sh", "-c", boot, "sh", y.base, filepath.Dir(tool))
	t.Cleanup(func() {
		r.signal(syscall.SIGTERM)
		r.wait()
	})
	m := &manager{yard: y}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := m.inside("journalctl", "--no-pager", "-u", "kb.service").CombinedOutput()
			t.Logf("%s", out)
		}
	})
	eventually(t, "systemd is up", func() bool {
		m.pid = firstOf(r.pid())
		if m.pid == 0 {
			return false
		}
		out, _ := m.inside("systemctl", "is-system-running").Output()
		return slices.Contains([]string{"running", "degraded"}, strings.TrimSpace(string(out)))
	})
	return m
}

// ownMounts lets a command mount what it likes.
func ownMounts(c *exec.Cmd) { c.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNS }

// firstOf is the systemd below a process.
func firstOf(pid int) int {
	for _, p := range children(pid) {
		if strings.HasPrefix(commandOf(p), "/lib/systemd/systemd") {
			return p
		}
		if found := firstOf(p); found != 0 {
			return found
		}
	}
	return 0
}

// enter is a command that runs among the processes of the manager.
func (m *manager) enter(words ...string) []string {
	return append([]string{"nsenter", "-t", itoa(m.pid), "-m", "-p", "-u", "-i", "-C", "-r"}, words...)
}

func (m *manager) inside(words ...string) *exec.Cmd {
	words = m.enter(words...)
	return exec.Command(words[0], words[1:]...)
}

func (m *manager) systemctl(words ...string) {
	m.t.Helper()
	if out, err := m.inside(append([]string{"systemctl"}, words...)...).CombinedOutput(); err != nil {
		m.t.Fatalf("systemctl %v: %v: %s", words, err, out)
	}
}

// watchUnit starts a watch of the unit beside it.
func (m *manager) watchUnit(flags ...string) *running {
	m.t.Helper()
	words := m.enter(append([]string{tool}, m.flags(append(flags, "--unit=kb.service")...)...)...)
	path, err := exec.LookPath(words[0])
	must(m.t, err)
	return m.start(nil, path, words[1:]...)
}

// A unit that is down is started by its manager, one that hangs is reported, and
// stopped by its manager if that is asked for. What somebody else started is not
// the unit, and is not stopped in its place.
func TestWatchOfAUnit(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	m.watchUnit("--once").exits(0)
	m.started(1)
	m.systemctl("stop", "kb.service")
	again := m.watchUnit("--once")
	again.exits(0)
	if said := again.errs.all(); !strings.Contains(said, "started: started kb.service: nobody had it") {
		t.Errorf("said: %q", said)
	}
	m.started(2)
	if e := m.events("recovery"); len(e) != 2 || e[1].Name != "kb.service" {
		t.Errorf("%+v", e)
	}
	eventually(t, "it is well", func() bool { _, err := os.Stat(m.path("well")); return err == nil })
	m.watchUnit("--once").exits(0)
	m.started(2)
	m.sick()
	m.watchUnit("--once").exits(1)
	m.started(2)
	m.watchUnit("--once", "--on-unhealthy=restart").exits(0)
	m.started(3)
	// The manager starts it when it likes: that may come before or after.
	m.inOrder("recovery", "recovery", "health", "incident", "health", "incident", "recovery")
	m.alone()

	m.systemctl("stop", "kb.service")
	words := m.enter(tool, "run", m.dir, "--", m.service, "by hand")
	byHand := m.start(nil, "/usr/bin/env", words...)
	byHand.out.await("service by hand", 1)
	m.sick()
	loop := m.watchUnit("--on-unhealthy=restart")
	loop.errs.await("does not belong to kb.service; trying again every 10s", 1)
	must(t, syscall.Kill(children(loop.pid())[0], syscall.SIGTERM)) // nsenter passes nothing on
	loop.exits(0)
	m.started(4)
	m.rest(byHand.pid())
}
