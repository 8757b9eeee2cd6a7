package supervise

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// memory is that file, and the one that says how the service is. A nil one
// remembers nothing.
type memory struct {
	name  string
	state *datadir.State
	boot  string
	say   func(format string, args ...any)
	mute  bool // that it cannot be written was said

	stuck chan error // of a write that has no end yet
}

// writeLimit is how long a write may take: the caller has more to do than to wait
// for a place that does not answer.
const writeLimit = 2 * time.Second

// written is its content: ages, and the clock against which they were taken.
type written struct {
	policy.Memory
	Boot string        `json:"boot"`
	At   time.Duration `json:"at"` // since boot
}

// openMemory opens the place; what fails is said, and then nothing is remembered.
func openMemory(name, dir, statePath string, say func(string, ...any)) *memory {
	s, err := datadir.StateOf(dir, statePath)
	if err != nil {
		say("failures will not be remembered: %v", err)
		return nil
	}
	self, _ := procid.Of(procfs.Default(), 0)
	return &memory{name: name, state: s, boot: self.BootID, say: say}
}

// load returns what is remembered, with the time that has passed since. What
// cannot be read is nothing.
func (m *memory) load() policy.Memory {
	if m == nil {
		return policy.Memory{}
	}
	return m.loadFrom(m.name)
}

func (m *memory) loadFrom(name string) policy.Memory {
	if m == nil {
		return policy.Memory{}
	}
	var w written
	if journal.ReadPage(m.read(name), &w) != nil {
		return policy.Memory{}
	}
	if w.Boot == m.boot && w.Boot != "" {
		return w.Memory.Later(max(0, procid.SinceBoot()-w.At))
	}
	return w.Memory // how long the machine was down says nothing about the service
}

// givenUp reports whether a run or a watch has given up and nobody took it back.
func (m *memory) givenUp() bool {
	return m.loadFrom(WatchName).GivenUp || m.loadFrom(FailuresName).GivenUp
}

// forgive takes back what runs and watches remember: a person asks for it.
func (m *memory) forgive() {
	if m == nil {
		return
	}
	for _, name := range []string{WatchName, FailuresName} {
		if m.loadFrom(name) == (policy.Memory{}) {
			continue // and nothing need be written
		}
		page, err := journal.Page(written{Boot: m.boot, At: procid.SinceBoot()})
		m.write(name, page, err)
	}
}

func (m *memory) read(name string) []byte {
	f, err := m.state.OpenRead(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text := make([]byte, journal.PageSize)
	n, _ := f.ReadAt(text, 0)
	return text[:n]
}

// save writes it down. A crash in the middle leaves what cannot be read, which
// counts as nothing.
func (m *memory) save(mem policy.Memory) {
	if m == nil {
		return
	}
	page, err := journal.Page(written{mem, m.boot, procid.SinceBoot()})
	m.write(m.name, page, err)
}

// pulse writes down how the service was just now.
func (m *memory) pulse(p journal.Pulse) {
	if m == nil {
		return
	}
	page, err := p.Page()
	m.write(journal.PulseName, page, err)
}

// write says once that it cannot.
func (m *memory) write(name string, page []byte, err error) {
	if err == nil {
		err = m.timely(name, page)
	}
	if err != nil && !m.mute {
		m.say("what happens is not remembered: %v", err)
	}
	m.mute = err != nil
}

// timely writes, one page after the other, and gives up in time. What comes while
// one hangs is lost: the next says more.
func (m *memory) timely(name string, page []byte) error {
	if m.stuck != nil {
		select {
		case <-m.stuck:
			m.stuck = nil
		default:
			return os.ErrDeadlineExceeded
		}
	}
	done := make(chan error, 1)
	go func() { done <- m.over(name, page) }()
	late := time.NewTimer(writeLimit)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		m.stuck = done
		return fmt.Errorf("%s has not been written within %s: %w", name, writeLimit, os.ErrDeadlineExceeded)
	}
}

func (m *memory) over(name string, page []byte) error {
	f, err := m.state.OpenWrite(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(page, 0)
	return err
}

// root gives the state directory for evidence.
func (m *memory) root() (*os.Root, error) {
	if m == nil {
		return nil, errNoPlace
	}
	return m.state.Root()
}

var errNoPlace = errors.New("solehold's own directory could not be opened")

func (m *memory) close() {
	if m != nil && m.stuck == nil { // else it goes with the process
		m.state.Close()
	}
}
