package testsystemd

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// patience bounds each wait, on a machine that does much else.
const patience = 60 * time.Second

// boot, below unshare --mount, makes systemd the first process of namespaces of
// its own: boot BASE BOOTID SHARED... It has a cgroup of its own, which is removed
// when all of it is dead.
const boot = `set -e
base=$1 group=$1/cgroup/solehold-test-$$
mkdir -p "$base/cgroup" "$base/layers"
mount --make-rprivate /
mount -t cgroup2 none "$base/cgroup"
mkdir "$group"
trap 'until rmdir $(find "$group" -depth -type d) 2>/dev/null; do sleep 0.05; [ -d "$group" ] || break; done' EXIT
sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" \
unshare --mount --pid --fork --kill-child --uts --ipc --cgroup sh -ec '
base=$1 bootid=$2
shift 2
mount -t tmpfs tmpfs "$base/layers"
mkdir "$base/layers/up" "$base/layers/work" "$base/layers/root"
root=$base/layers/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/layers/up,workdir=$base/layers/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
for shared; do mkdir -p "$root$shared"; mount --bind "$shared" "$root$shared"; done
if [ -n "$bootid" ]; then
	echo "$bootid" >"$base/layers/bootid"
	mount --bind "$base/layers/bootid" "$root/proc/sys/kernel/random/boot_id"
fi
rm -f "$root/etc/machine-id"
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
for other in systemd-udevd systemd-networkd systemd-logind systemd-tmpfiles-setup getty@tty1 dbus cron; do
	ln -sf /dev/null "$root/etc/systemd/system/$other.service"
done
if [ -d "$base/etc" ]; then cp -r "$base/etc/." "$root/etc/systemd/system/"; fi
export container=lxc
exec chroot "$root" /lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=0' sh "$@" <&- &
child=$!
trap 'kill -9 $child' TERM
wait $child || wait $child || :
`

// Options say how a manager differs from that of this machine.
type Options struct {
	// Shared are directories that are the same inside and outside.
	Shared []string
	// Units are files for /etc/systemd/system.
	Units map[string]string
	// BootID is what the kernel says of this boot, for the second of two; empty
	// for what it really says.
	BootID string
	// Env is added to the environment of what starts the manager.
	Env []string
}

// Manager is a systemd that a test has for itself.
type Manager struct {
	t     testing.TB
	pid   int // of its first process
	outer *exec.Cmd
	once  sync.Once
}

// Boot starts one and waits until it is up. It ends with the test. Without root,
// systemd or cgroups of version 2 the test is skipped.
func Boot(t testing.TB, o Options) *Manager {
	t.Helper()
	testneed.Root(t)
	testneed.Program(t, "systemctl", "apt-get install systemd")
	testneed.Program(t, "nsenter", "apt-get install util-linux")
	mounts := exec.Command("unshare", "--mount", "mount", "-t", "cgroup2", "none", "/mnt").Run()
	testneed.Feature(t, mounts == nil, "cgroups of version 2", "boot a kernel that has them")
	base := t.TempDir()
	for name, text := range o.Units {
		put(t, filepath.Join(base, "etc", name), text)
	}
	m := &Manager{t: t}
	m.outer = exec.Command("/bin/sh", slices.Concat([]string{"-c", boot, "sh", base, o.BootID}, o.Shared)...)
	m.outer.Env = append(os.Environ(), o.Env...)
	m.outer.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM} // also where a test is killed
	said := &strings.Builder{}
	m.outer.Stdout, m.outer.Stderr = io.Discard, said
	if err := m.outer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Kill)
	up := m.until(func() bool {
		if m.pid = first(m.outer.Process.Pid); m.pid == 0 {
			return false
		}
		out, _ := m.Command("systemctl", "is-system-running").Output()
		return slices.Contains([]string{"running", "degraded"}, strings.TrimSpace(string(out)))
	})
	if !up {
		t.Fatalf("systemd does not come up: %s", said)
	}
	return m
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Kill ends it and all that it has started, as a power cut does.
func (m *Manager) Kill() {
	m.once.Do(func() {
		m.outer.Process.Signal(syscall.SIGTERM)
		m.outer.Wait()
	})
}

// first is the systemd below a process.
func first(pid int) int {
	self := strconv.Itoa(pid)
	text, _ := os.ReadFile(filepath.Join("/proc", self, "task", self, "children"))
	for _, word := range strings.Fields(string(text)) {
		child, _ := strconv.Atoi(word)
		if line, _ := os.ReadFile(filepath.Join("/proc", word, "cmdline")); strings.HasPrefix(string(line), "/lib/systemd/systemd") {
			return child
		}
		if found := first(child); found != 0 {
			return found
		}
	}
	return 0
}

// PID is that of its first process, as this machine counts.
func (m *Manager) PID() int { return m.pid }

// Enter is a command line that runs among its processes.
func (m *Manager) Enter(words ...string) []string {
	return append([]string{"nsenter", "-t", strconv.Itoa(m.pid), "-m", "-p", "-u", "-i", "-C", "-r", "-w"}, words...)
}

// Command runs among its processes when it is started.
func (m *Manager) Command(words ...string) *exec.Cmd {
	words = m.Enter(words...)
	return exec.Command(words[0], words[1:]...)
}

// Do runs a command among its processes and returns what it printed. Unless that
// ends with 0 the test fails.
func (m *Manager) Do(words ...string) string {
	m.t.Helper()
	out, err := m.Command(words...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("%q: %v\n%s", words, err, out)
	}
	return string(out)
}

// Write puts a file there.
func (m *Manager) Write(path, text string) {
	m.t.Helper()
	c := m.Command("sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1"`, "sh", path)
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", path, err, out)
	}
}

// Show gives one property of a unit.
func (m *Manager) Show(unit, property string) string {
	m.t.Helper()
	return strings.TrimSpace(m.Do("systemctl", "show", "--value", "-p", property, unit))
}

// Await waits until a property of a unit has a value.
func (m *Manager) Await(unit, property, value string) {
	m.t.Helper()
	m.Until(unit+" has "+property+"="+value, func() bool { return m.Show(unit, property) == value })
}

// Until waits for what nobody tells of.
func (m *Manager) Until(what string, ok func() bool) {
	m.t.Helper()
	if !m.until(ok) {
		out, _ := m.Command("journalctl", "--no-pager", "-n", "60", "_TRANSPORT=stdout", "+", "_TRANSPORT=journal").CombinedOutput()
		m.t.Fatalf("never: %s\n%s", what, out)
	}
}

func (m *Manager) until(ok func() bool) bool {
	end, again := time.Now().Add(patience), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for !ok() {
		if time.Now().After(end) {
			return false
		}
		<-again.C
	}
	return true
}
