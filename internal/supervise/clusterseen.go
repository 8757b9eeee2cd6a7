package supervise

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/lease"
)

// clusterName is the file that remembers the highest token of the cluster that a
// command had here: an engine that was restored, or another one, is refused.
const clusterName = "cluster.json"

// clusterSeen is its content. Where it is, the directory is guarded by the lock of
// a cluster, and no run works there without.
type clusterSeen struct {
	Token uint64 `json:"token"`
	// Sticky is what is known of a claim without a lease.
	Sticky *lease.Kept `json:"sticky,omitempty"`
}

// onlyHere refuses a run without the lock of the cluster where there was one with
// it: another machine may be at work. Who insists gets the next token, which later
// ones of the cluster must be above.
func (r *runner) onlyHere() error {
	if r.c.Cluster != nil {
		return nil
	}
	s := &seenToken{}
	var err error
	if s.state, err = datadir.StateOf(r.lock.Dir(), r.c.Options.StateDir); err != nil {
		return err
	}
	defer s.state.Close()
	switch err = s.read(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case !r.c.WithoutCluster:
		return &NoClusterError{Dir: r.lock.Dir(), Token: s.token}
	case err != nil:
		return err
	}
	r.log(solehold.Event{Kind: journal.Forced, Detail: fmt.Sprintf("without the lock of the cluster, whose last token here was %d", s.token)})
	return s.raise(r.lock.Token())
}

// seenToken is the file of the highest token.
type seenToken struct {
	state *datadir.State
	token uint64
	kept  lease.Kept
}

// openSeen reads the highest token. Where there was no cluster before, it is that
// of the last owner: programs had that one.
func openSeen(r *runner) (*seenToken, error) {
	state, err := datadir.StateOf(r.lock.Dir(), r.c.Options.StateDir)
	if err != nil {
		return nil, err
	}
	s := &seenToken{state: state}
	if err = s.read(); errors.Is(err, fs.ErrNotExist) {
		err = s.raise(r.lock.Token() - 1) // attempts from now on do not raise it
	}
	if err != nil {
		state.Close()
		return nil, err
	}
	return s, nil
}

func (s *seenToken) read() error {
	f, err := s.state.OpenRead(clusterName)
	if err != nil {
		return err
	}
	defer f.Close()
	text := make([]byte, journal.PageSize)
	n, _ := f.ReadAt(text, 0)
	var seen clusterSeen
	if err := journal.ReadPage(text[:n], &seen); err != nil {
		return &ClusterError{wire.Unsafe, fmt.Sprintf("%s does not say which token was the last (%v): no token can be proven to be above it", f.Path(), err)}
	}
	s.token = seen.Token
	if seen.Sticky != nil {
		s.kept = *seen.Sticky
	}
	return nil
}

// raise writes a higher token down before anybody works with it.
func (s *seenToken) raise(token uint64) error { return s.keep(token, s.kept) }

// keep writes down what is known of a sticky claim, too.
func (s *seenToken) keep(token uint64, kept lease.Kept) error {
	seen := clusterSeen{Token: max(token, s.token)}
	if kept.Nonce != "" {
		seen.Sticky = &kept
	}
	page, err := journal.Page(seen)
	if err != nil {
		return err
	}
	f, err := s.state.OpenWrite(clusterName)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.WriteAt(page, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		s.token, s.kept = seen.Token, kept
	}
	return err
}
