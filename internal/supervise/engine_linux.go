//go:build !solehold_portable

package supervise

import (
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
)

// noteEngine writes down where the lock of the cluster is, for `history`. It is a
// label: that it cannot be written changes nothing.
func noteEngine(state *datadir.State, c Cluster) {
	page, err := journal.Page(journal.Engine{URL: c.URL, Name: c.Name})
	if err != nil {
		return // longer than any that is written by hand
	}
	f, err := state.OpenWrite(journal.EngineName)
	if err != nil {
		return
	}
	defer f.Close()
	f.WriteAt(page, 0)
}
