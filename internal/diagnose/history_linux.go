package diagnose

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

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

// identity is the path by which the journal knows a directory, and whose word
// about it counts: that of root and of its owner.
func identity(dir string) (path string, trusted func(uid int) bool) {
	path, err := filepath.Abs(dir)
	if err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	owner := 0
	if st, err := os.Stat(path); err == nil {
		if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			owner = int(sys.Uid)
		}
	}
	return path, func(uid int) bool { return uid == 0 || uid == owner }
}
