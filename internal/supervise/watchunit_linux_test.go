//go:build !solehold_portable

package supervise_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
	"github.com/solehold/solehold/internal/testsystemd"
)

// manager is a systemd that a test has for itself.
type manager struct {
	*yard
	*testsystemd.Manager
}

// newManager boots one that knows the unit kb.service.
func newManager(t *testing.T) *manager {
	t.Helper()
	testneed.Root(t)
	y := newYard(t)
	unit := "[Service]\nTimeoutStopSec=60\nExecStart=" + tool + " run " + y.dir + " -- " + y.service + " unit\n"
	m := &manager{y, testsystemd.Boot(t, testsystemd.Options{
		Shared: []string{y.base, filepath.Dir(tool)}, Units: map[string]string{"kb.service": unit}, Env: []string{markVar + "=" + y.mark},
	})}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := m.Command("journalctl", "--no-pager", "-u", "kb.service").CombinedOutput()
			t.Logf("%s", out)
		}
	})
	return m
}

// watchUnit starts a watch of the unit beside it.
func (m *manager) watchUnit(flags ...string) *running {
	m.t.Helper()
	words := m.Enter(append([]string{tool}, m.flags(append(flags, "--unit=kb.service")...)...)...)
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
	m.Do("systemctl", "stop", "kb.service")
	again := m.watchUnit("--once")
	again.exits(0)
	if said := again.errs.all(); !strings.Contains(said, "started: started kb.service: nobody had it") {
		t.Errorf("said: %q", said)
	}
	m.started(2)
	if e := m.events("recovery"); len(e) != 2 || e[1].Name != "kb.service" {
		t.Errorf("%+v", e)
	}
	testneed.Until(t, "it is well", func() bool { _, err := os.Stat(m.path("well")); return err == nil })
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

	m.Do("systemctl", "stop", "kb.service")
	words := m.Enter(tool, "run", m.dir, "--", m.service, "by hand")
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
