package diagnose

import (
	"errors"
	"io/fs"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
)

// readHistory reads the events and the newest answer of the service.
func readHistory(dir string, o *solehold.Options) (h journal.History, p journal.Pulse, err error) {
	d, err := datadir.Open(dir)
	if err != nil {
		return h, p, err
	}
	defer d.Close()
	path := ""
	if o != nil {
		path = o.StateDir
	}
	s, err := d.FindState(path)
	if errors.Is(err, fs.ErrNotExist) {
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
