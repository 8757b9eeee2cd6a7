package clustertest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Tenure is one ownership: from when Acquire was called to the last act of the work.
type Tenure struct {
	// Client and Name say whose it was, and of which lock.
	Client int
	Name   string
	// Token is the fencing token.
	Token uint64
	// Called is when Acquire was called, Owned when it returned, Acted when the work did something for the last time.
	Called, Owned, Acted time.Duration
	// Released is when the engine confirmed the release, or 0 if that is not known.
	Released time.Duration
}

// Refusal is an attempt that found an owner.
type Refusal struct {
	// Client and Name say whose it was, and of which lock.
	Client int
	Name   string
	// Called and Returned are when.
	Called, Returned time.Duration
}

// History is what clients did, on one clock. The zero value is empty; its methods may be called from any goroutine.
type History struct {
	mu       sync.Mutex
	tenures  []Tenure
	refusals []Refusal
}

// Add takes a tenure that has ended.
func (h *History) Add(t Tenure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tenures = append(h.tenures, t)
}

// Refused takes a refusal.
func (h *History) Refused(r Refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusals = append(h.refusals, r)
}

// Len gives how many tenures there are.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tenures)
}

// Check gives what is wrong: two owners at once, a token that does not rise, or no order of the answers that one lock
// could have given. A search for the order that takes longer than ten seconds says nothing.
func (h *History) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(h.sweep(), h.order())
}

// sweep lays the tenures of each lock beside each other.
func (h *History) sweep() error {
	all := slices.SortedFunc(slices.Values(h.tenures), func(a, b Tenure) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Owned, b.Owned))
	})
	var errs []error
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		switch {
		case a.Name != b.Name:
		case b.Owned < a.Acted:
			errs = append(errs, fmt.Errorf("two owners of %q for %v: %+v, %+v", a.Name, a.Acted-b.Owned, a, b))
		case b.Token <= a.Token:
			errs = append(errs, fmt.Errorf("a token of %q that does not rise: %+v, %+v", a.Name, a, b))
		}
	}
	return errors.Join(errs...)
}

// input is one operation of the model.
type input struct {
	name    string
	client  int
	token   uint64
	release bool
	refused bool
}

// lock is a state of the model: who has the lock, and the highest token so far.
type lock struct {
	held   bool
	client int
	token  uint64
}

// model is a lock with rising tokens. A release that was never confirmed has happened some time after the last act: the
// lease has run out.
func model() porcupine.Model {
	return porcupine.Model{
		Partition: byName,
		Init:      func() any { return lock{} },
		Step:      step,
	}
}

func step(state, in, _ any) (bool, any) {
	s, op := state.(lock), in.(input)
	switch {
	case op.refused:
		return s.held, s
	case op.release:
		ok := s.held && s.client == op.client && s.token == op.token
		return ok, lock{token: s.token}
	}
	return !s.held && op.token > s.token, lock{held: true, client: op.client, token: op.token}
}

func byName(ops []porcupine.Operation) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	for _, op := range ops {
		name := op.Input.(input).name
		parts[name] = append(parts[name], op)
	}
	var all [][]porcupine.Operation
	for _, p := range parts {
		all = append(all, p)
	}
	return all
}

// order looks for an order of the answers that one lock could have given.
func (h *History) order() error {
	var ops []porcupine.Operation
	add := func(client int, in input, from, to time.Duration) {
		if to == 0 {
			to = math.MaxInt64
		}
		ops = append(ops, porcupine.Operation{ClientId: client, Input: in, Call: int64(from), Return: int64(to)})
	}
	for _, t := range h.tenures {
		add(t.Client, input{name: t.Name, client: t.Client, token: t.Token}, t.Called, t.Owned)
		add(t.Client, input{name: t.Name, client: t.Client, token: t.Token, release: true}, t.Acted, t.Released)
	}
	for _, r := range h.refusals {
		add(r.Client, input{name: r.Name, client: r.Client, refused: true}, r.Called, r.Returned)
	}
	if porcupine.CheckOperationsTimeout(model(), ops, 10*time.Second) == porcupine.Illegal {
		return fmt.Errorf("no lock gives these %d answers in any order", len(ops))
	}
	return nil
}
