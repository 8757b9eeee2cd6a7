//go:build !solehold_portable

package supervise

import "github.com/solehold/solehold/internal/journal"

// note takes down what was heard of the engine, for who looks at this run.
func (a *agent) note(change func(*journal.Lease)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noteLocked(change)
}

// noteLocked waits for nobody: of what could not be written yet the newest stays.
func (a *agent) noteLocked(change func(*journal.Lease)) {
	change(&a.state)
	select {
	case <-a.notes:
	default:
	}
	a.notes <- a.state
}

// tell writes down how the lease is, on a goroutine of its own: a disk that does not
// answer holds up no deadline.
func (a *agent) tell(r *runner) {
	m := openMemory(journal.LeaseName, r.lock.Dir(), r.c.Options.StateDir, r.c.Say)
	if m == nil {
		return
	}
	token := r.lock.Token()
	a.untold = make(chan struct{})
	go func() {
		defer m.close()
		for {
			select {
			case l := <-a.notes:
				l.Token, l.Boot = token, m.boot
				page, err := l.Page()
				m.write(m.name, page, err)
			case <-a.untold:
				return
			}
		}
	}()
}
