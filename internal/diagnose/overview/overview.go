// Package overview looks at all data directories of a host at once, again and
// again: whoever has one, what happened to it, and what doctor finds. There is no
// registry: the directories are those that somebody holds now, those that the
// caller names, and those that were seen before.
//
// It takes nothing, writes nothing and signals nobody. A look at what has not
// changed costs some system calls for each directory; a file system that does not
// answer costs the rows of that file system.
package overview

import (
	"context"
	"slices"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/procfs"
)

// Options say what to look at, and how often at what is costly.
type Options struct {
	// Paths are directories that are told about whether somebody has them or not.
	Paths []string
	// Roots are bases of data roots; each root below one counts as named.
	Roots []string
	// Limit is how many directories are told about; by default DefaultLimit. The
	// others are counted.
	Limit int
	// Timeout is how long a file system may take to answer; by default
	// solehold.DefaultTimeout.
	Timeout time.Duration
	// MaxAge is how long a directory may be held before doctor tells of it; 0 means
	// for ever.
	MaxAge time.Duration
	// Examine is the shortest time between two looks of doctor, by default
	// DefaultExamine; a host whose look is costly is looked at less often. A negative
	// one means never.
	Examine time.Duration
	// Proc is the /proc to read; the zero value means the one of this host.
	Proc procfs.FS
}

const (
	// DefaultLimit is how many directories are told about.
	DefaultLimit = 2000
	// DefaultExamine is the shortest time between two looks of doctor.
	DefaultExamine = 15 * time.Second
)

// Trouble is why a row could not be read.
type Trouble string

// The troubles.
const (
	// Vanished: the directory is not there any more, or not yet.
	Vanished Trouble = "vanished"
	// Permission: this user may not look.
	Permission Trouble = "permission"
	// Foreign: something else lies where solehold's files should be, or the record
	// was written by another machine.
	Foreign Trouble = "foreign"
	// Unreadable: the record is damaged.
	Unreadable Trouble = "unreadable"
	// Hung: the file system does not answer.
	Hung Trouble = "hung"
	// Other: any other error.
	Other Trouble = "other"
)

// Problem is why a row could not be read, or not wholly.
type Problem struct {
	// Kind is the sort of it.
	Kind Trouble `json:"kind"`
	// Detail says it in words.
	Detail string `json:"detail"`
}

// Directory is one row: a data directory with its holder and its past.
type Directory struct {
	diagnose.Report
	// Path is by what name this host finds it; Dir is how its holder sees it.
	Path string `json:"path"`
	// Looked is when the files were last read.
	Looked time.Time `json:"looked,omitzero"`
	// Problem is nil where everything could be read.
	Problem *Problem `json:"problem,omitempty"`
	// Events counts those that the history tells.
	Events int `json:"events"`
	// Restarts counts how often a command was started again.
	Restarts int `json:"restarts"`
	// LastRestart is the newest.
	LastRestart time.Time `json:"last_restart,omitzero"`
	// Recoveries counts the starts of a watch that found nobody.
	Recoveries int `json:"recoveries"`
	// GaveUp is when a command was given up that nobody has started since.
	GaveUp time.Time `json:"gave_up,omitzero"`
	// Acquired counts the lives.
	Acquired int `json:"acquired"`
	// Takeovers counts the holders whose predecessor had left no release.
	Takeovers int `json:"takeovers"`
	// Losses counts the holders that lost the directory.
	Losses int `json:"losses"`
	// Refusals counts all starters that were turned away; Refused is those of the
	// present holder.
	Refusals int `json:"refusals"`
	// Incidents counts the evidence that is kept.
	Incidents int `json:"incidents"`
	// NewestIncident is the name of the newest of them.
	NewestIncident string `json:"newest_incident,omitempty"`
	// Waiters counts the processes that wait for the directory, as doctor last saw it.
	Waiters int `json:"waiters"`
	// HandOff is from a release to the next holder.
	HandOff Durations `json:"hand_off"`
	// Acquire is from the request to let go to the next holder.
	Acquire Durations `json:"acquire"`
	// Start is from the acquisition until the service was ready.
	Start Durations `json:"start"`
	// Remote is the lock that the present holder has at a cluster engine.
	Remote *solehold.Cluster `json:"remote,omitempty"`
}

// Host is everything that a look saw. It is not changed afterwards.
type Host struct {
	// Revision rises with each change.
	Revision uint64 `json:"revision"`
	// At is when it was looked at.
	At time.Time `json:"at"`
	// Directories are sorted by path.
	Directories []Directory `json:"directories"`
	// LeftOut counts directories beyond the limit, up to as many again.
	LeftOut int `json:"left_out,omitempty"`
	// Unseen counts locks of solehold whose directory could not be found: their
	// holders belong to other users, or to another pid namespace.
	Unseen int `json:"unseen,omitempty"`
	// Examined is when doctor looked; zero before the first time.
	Examined time.Time `json:"examined,omitzero"`
	// Doctor is what it found.
	Doctor doctor.Report `json:"doctor"`
}

// Look looks once.
func Look(ctx context.Context, o Options) Host { return NewWatcher(o).Look(ctx) }

// Find returns the row of a path, by what name this host finds it or else by what name
// its holder does; false where there is none.
func (h Host) Find(path string) (Directory, bool) {
	for _, name := range []func(Directory) string{func(d Directory) string { return d.Path }, func(d Directory) string { return d.Dir }} {
		if i := slices.IndexFunc(h.Directories, func(d Directory) bool { return name(d) == path }); i >= 0 {
			return h.Directories[i], true
		}
	}
	return Directory{}, false
}
