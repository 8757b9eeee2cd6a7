package testsystemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testsystemd"
)

// Two at once do not see each other, nothing of them reaches this machine but
// what is shared, and nothing stays when they end.
func TestBoot(t *testing.T) {
	t.Parallel()
	shared := t.TempDir()
	one := testsystemd.Boot(t, testsystemd.Options{
		Shared: []string{shared}, BootID: "11112222-3333-4444-8555-666677778888",
		Units: map[string]string{
			"one.service":          "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=touch " + shared + "/one\n",
			"one.service.d/x.conf": "[Unit]\nDescription=of one\n",
		},
	})
	two := testsystemd.Boot(t, testsystemd.Options{Shared: []string{shared}})
	one.Do("systemctl", "start", "one.service")
	one.Await("one.service", "ActiveState", "active")
	if got := one.Show("one.service", "Description"); got != "of one" {
		t.Errorf("its settings are not read: %q", got)
	}
	if _, err := os.Stat(filepath.Join(shared, "one")); err != nil {
		t.Error("what is shared is not")
	}
	if got := two.Show("one.service", "LoadState"); got != "not-found" {
		t.Errorf("the other one has the unit, too: %s", got)
	}
	if got := strings.TrimSpace(one.Do("cat", "/proc/sys/kernel/random/boot_id")); got != "11112222-3333-4444-8555-666677778888" {
		t.Errorf("its boot is %s", got)
	}
	one.Write("/etc/solehold-test/file", "x")
	if _, err := os.Stat("/etc/solehold-test"); err == nil {
		t.Error("it writes on this machine")
	}
	if out, err := two.Command("ls", "/etc/solehold-test").Output(); err == nil {
		t.Errorf("it writes into the other one: %s", out)
	}
	for _, m := range []*testsystemd.Manager{one, two} {
		group := groupOf(t, m.PID())
		if !hasGroup(t, group) {
			t.Fatalf("it has no cgroup %s", group)
		}
		m.Kill()
		if hasGroup(t, group) {
			t.Errorf("the cgroup %s stays", group)
		}
		// The dead, whom nobody has reaped yet, have no command line.
		if line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(m.PID()), "cmdline")); len(line) > 0 {
			t.Errorf("pid %d lives: %q", m.PID(), line)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), "/layers") {
		t.Errorf("mounts of it are here: %v", err)
	}
}

// groupOf is the cgroup that a manager was given.
func groupOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	group := regexp.MustCompile(`(?m)^0::.*/(solehold-test-\d+)`).FindSubmatch(text)
	if group == nil {
		t.Fatalf("no cgroup of its own: %s", text)
	}
	return string(group[1])
}

// hasGroup looks whether the kernel has a cgroup.
func hasGroup(t *testing.T, name string) bool {
	t.Helper()
	out, err := exec.Command("unshare", "--mount", "sh", "-ec", "mount -t cgroup2 none /mnt && ls /mnt").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return slices.Contains(strings.Fields(string(out)), name)
}

// A journal of its own hears what its services say.
func TestJournal(t *testing.T) {
	t.Parallel()
	m := testsystemd.Boot(t, testsystemd.Options{Units: map[string]string{"say.service": "[Service]\nType=oneshot\nExecStart=echo said here\n"}})
	m.Do("systemctl", "start", "say.service")
	m.Until("it is in the journal", func() bool {
		return strings.Contains(m.Do("journalctl", "--no-pager", "-u", "say.service", "-o", "cat"), "said here")
	})
	words := m.Enter("true")
	if words[0] != "nsenter" || words[2] != strconv.Itoa(m.PID()) || words[len(words)-1] != "true" {
		t.Errorf("%q", words)
	}
}

// A program that fails below it is told with what it said.
func TestCommandFails(t *testing.T) {
	t.Parallel()
	m := testsystemd.Boot(t, testsystemd.Options{})
	out, err := m.Command("systemctl", "start", "no-such.service").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no-such.service not found") {
		t.Errorf("%v: %s", err, out)
	}
}
