//go:build !solehold_portable

package supervise

import (
	"os"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/policy"
)

// remembering opens the memory of a directory that is held.
func remembering(t *testing.T) *memory {
	t.Helper()
	dir := t.TempDir()
	lock, err := solehold.Acquire(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Release() })
	m := openMemory(FailuresName, dir, "", t.Logf)
	if m == nil {
		t.Fatal("no memory")
	}
	t.Cleanup(m.close)
	return m
}

// Time goes on for what is remembered, but not while the machine was down.
func TestMemoryAgesWithinOneBoot(t *testing.T) {
	t.Parallel()
	m := remembering(t)
	if got := m.load(); got != (policy.Memory{}) {
		t.Errorf("before anything was saved: %+v", got)
	}
	saved := policy.Memory{Failures: 3, Age: time.Minute, Previous: time.Second, GivenUp: true}
	m.save(saved)
	got := m.load()
	if got.Age <= saved.Age || got.Age > saved.Age+time.Minute || got.Failures != 3 || !got.GivenUp {
		t.Errorf("in the same boot: %+v", got)
	}
	m.boot = "of another start of the machine"
	if got := m.load(); got != saved {
		t.Errorf("after a reboot: %+v", got)
	}
	m.boot = "" // not known: as little is added
	m.save(saved)
	if got := m.load(); got != saved {
		t.Errorf("without a boot id: %+v", got)
	}
}

// A crash in the middle of a write leaves what cannot be read, and a link that
// somebody has put there is not followed.
func TestMemoryTakesNothingBroken(t *testing.T) {
	t.Parallel()
	m := remembering(t)
	m.save(policy.Memory{Failures: 3})
	page := m.read(FailuresName)
	m.write(FailuresName, append(page[:20:20], make([]byte, 30)...), nil) // over its middle
	if got := m.load(); got != (policy.Memory{}) {
		t.Errorf("a page that is torn: %+v", got)
	}
	root, err := m.root()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	victim := t.TempDir() + "/victim"
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	root.Remove(FailuresName)
	if err := root.Symlink(victim, FailuresName); err != nil {
		t.Fatal(err)
	}
	m.save(policy.Memory{Failures: 5})
	if text, _ := os.ReadFile(victim); string(text) != "precious" {
		t.Errorf("a link was followed: %q", text)
	}
}

// Without a place nothing is remembered and nothing breaks.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	said := 0
	m := openMemory(FailuresName, t.TempDir()+"/missing", "", func(string, ...any) { said++ })
	m.save(policy.Memory{Failures: 3})
	if got := m.load(); got != (policy.Memory{}) || said != 1 {
		t.Errorf("%+v, said %d times", got, said)
	}
	if _, err := m.root(); err == nil {
		t.Error("a place for evidence")
	}
	m.close()
}
