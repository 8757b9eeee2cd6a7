package diagnose

import (
	"errors"
	"os"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
)

// readHistory reads the events and the newest answer of the service.
func readHistory(dir string, o *solehold.Options) (h journal.History, p journal.Pulse, err error) {
	s, err := datadir.StateOf(dir, statePath(o))
	if errors.Is(err, datadir.ErrNoState) {
		return h, p, nil
	}
	if err != nil {
		return h, p, err
	}
	defer s.Close()
	p, _ = journal.ReadPulse(s) // half written is as good as none
	h, err = journal.Read(s)
	return h, p, err
}

// openRoot opens the state directory for the readers of incidents.
func openRoot(dir string, o *solehold.Options) (*os.Root, error) {
	s, err := datadir.StateOf(dir, statePath(o))
	if errors.Is(err, datadir.ErrNoState) {
		return nil, errNoState
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Root()
}

func statePath(o *solehold.Options) string {
	if o == nil {
		return ""
	}
	return o.StateDir
}
