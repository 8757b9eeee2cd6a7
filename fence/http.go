package fence

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// Header is the request header that carries a token.
const Header = "Solehold-Fencing-Token"

// Store remembers the highest token of each resource.
type Store interface {
	// Raise returns a *StaleError when a higher token was seen, and else remembers this one before it returns.
	Raise(resource string, token uint64) error
}

// Memory is a Store that forgets at the end of the process. After a restart a late writer may come first; where that
// matters keep the tokens with the data.
type Memory struct {
	mu      sync.Mutex
	highest map[string]uint64
}

// Raise compares and remembers in one step.
func (m *Memory) Raise(resource string, token uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if high := m.highest[resource]; token < high {
		return &StaleError{Resource: resource, Token: token, Highest: high}
	}
	if m.highest == nil {
		m.highest = map[string]uint64{}
	}
	m.highest[resource] = token
	return nil
}

// Guard lets requests pass to next whose token is not below the highest that was seen for their resource. Without a token
// that can be read the answer is 428 Precondition Required, with one that is void 412 Precondition Failed. By default the
// resource is the host; give requests that only read to next directly.
//
// A request that passed may still be at work when one of a later owner comes. A handler that is not quick has to compare
// again where it writes.
type Guard struct {
	// Next is what is guarded.
	Next http.Handler
	// Store remembers.
	Store Store
	// Resource says what a request is about. By default its host.
	Resource func(*http.Request) string
}

// ServeHTTP answers a request.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, err := strconv.ParseUint(r.Header.Get(Header), 10, 64)
	if err != nil {
		http.Error(w, "a request to what has one owner needs its fencing token in the header "+Header, http.StatusPreconditionRequired)
		return
	}
	resource := r.Host
	if g.Resource != nil {
		resource = g.Resource(r)
	}
	if err := g.Store.Raise(resource, token); err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusPreconditionFailed)
		return
	}
	g.Next.ServeHTTP(w, r)
}

// Transport puts a token on each request.
type Transport struct {
	// Token is that of the lock.
	Token uint64
	// Base carries the requests out; http.DefaultTransport by default.
	Base http.RoundTripper
}

// RoundTrip sends a copy of r with the token.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	r = r.Clone(r.Context())
	r.Header.Set(Header, strconv.FormatUint(t.Token, 10))
	return base.RoundTrip(r)
}
