package diagnose

import (
	"errors"
	"io/fs"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
)

func readHistory(dir string, o *solehold.Options) (journal.History, error) {
	d, err := datadir.Open(dir)
	if err != nil {
		return journal.History{}, err
	}
	defer d.Close()
	s, err := openState(d, o)
	if errors.Is(err, fs.ErrNotExist) {
		return journal.History{}, nil
	}
	if err != nil {
		return journal.History{}, err
	}
	defer s.Close()
	return journal.Read(s)
}

func openState(d *datadir.Dir, o *solehold.Options) (*datadir.State, error) {
	path := ""
	if o != nil {
		path = o.StateDir
	}
	if path == "" {
		paired, err := d.PairedState()
		if err != nil {
			return nil, err
		}
		path = paired
	}
	if path == "" {
		return d.OpenState(false)
	}
	return d.OpenStateAt(path)
}
