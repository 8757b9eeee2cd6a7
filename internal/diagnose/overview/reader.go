package overview

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/journal"
)

// reader reads one directory, and reads again only what has changed. One goroutine
// at a time uses it: that of the file system that it lies on.
type reader struct {
	path   string
	stat   func(path string) stamp
	files  [3]string // those of a signature
	seen   signature
	known  bool      // it was read at least once
	asked  time.Time // when the files were looked at
	locked time.Time // and the lock file among them
	pace   time.Duration
	probed bool // somebody writes down the answers of the service
	when   time.Time
	key    datadir.Key // of the directory
	lock   datadir.Key // of the lock file

	follower journal.Follower
	story    story
	row      Directory
}

// signature is what changes when one of the files does.
type signature [3]stamp

// stamp is a file as one call tells it.
type stamp struct {
	there bool
	size  int64
	nano  int64 // when it was changed
}

// again is after what time a row is read anew that may have changed without a
// change of its files.
func (r *reader) again() time.Duration {
	if r.row.Problem != nil || r.row.State != solehold.Held && r.row.State != solehold.Free {
		return 5 * time.Second
	}
	return 5 * time.Minute
}

// rests says that its files were asked for less than pace ago, and it need not be read
// anew for another reason.
func (r *reader) rests(pace time.Duration) bool {
	r.pace = pace
	return time.Since(r.asked) < pace && time.Since(r.when) < r.again()
}

// look asks the file system what has changed, and reads that. forced says that the
// kernel's list of locks has changed for this directory.
func (r *reader) look(ctx context.Context, o *solehold.Options, forced bool) (changed bool) {
	quiet := r.known && !forced && time.Since(r.when) < r.again()
	r.asked = time.Now()
	now := r.sign(!quiet)
	if quiet && now == r.seen {
		return false
	}
	if quiet && r.row.Problem == nil && r.onlyHealth(now) {
		return r.pulse(now)
	}
	r.seen, r.known, r.when = now, true, time.Now()
	r.key, _ = datadir.KeyOf(r.path)
	if r.row = r.read(ctx, o); r.row.Err == nil && r.row.gone() {
		r.row = r.read(ctx, o) // it went while it was read: half of what was seen is of before
	}
	r.lock, _ = datadir.KeyOf(r.files[lockFile])
	return true
}

const (
	lockFile = iota
	historyFile
	healthFile
)

// lockPause is the time between two looks at a lock file, and lockTurn how often the
// other files are looked at meanwhile on a host with many directories. What a holder
// writes there is told in its history as well, with each event.
const (
	lockPause = 5 * time.Second
	lockTurn  = 3
)

// sign makes one to three calls, and opens nothing; whole means that all are made.
// Without its lock file a directory may be gone: then it is asked for as well.
func (r *reader) sign(whole bool) (s signature) {
	if r.files[lockFile] == "" {
		r.at(filepath.Join(r.path, datadir.StateName))
	}
	s[historyFile], s[lockFile] = r.stat(r.files[historyFile]), r.seen[lockFile]
	if whole || time.Since(r.locked) >= max(lockPause, lockTurn*r.pace) || !s[historyFile].there || s[historyFile] != r.seen[historyFile] {
		s[lockFile], r.locked = r.stat(r.files[lockFile]), r.asked
	}
	switch {
	case r.probed:
		s[healthFile] = r.stat(r.files[healthFile])
	case !s[lockFile].there:
		s[healthFile] = stamp{there: r.stat(r.path).there}
	}
	return s
}

func (r *reader) at(state string) [3]string {
	for i, name := range [3]string{datadir.LockName, journal.Name, journal.PulseName} {
		r.files[i] = state + "/" + name
	}
	return r.files
}

// onlyHealth says whether nothing changed but the newest answer of the service.
func (r *reader) onlyHealth(now signature) bool {
	now[healthFile] = r.seen[healthFile]
	return now == r.seen
}

// pulse reads the newest answer.
func (r *reader) pulse(now signature) bool {
	s, err := datadir.StateOf(r.path, "")
	if err != nil {
		return false // the next look finds out
	}
	defer s.Close()
	p, err := journal.ReadPulse(s)
	if err != nil || p.Token != r.row.Token || r.row.State != solehold.Held {
		return false
	}
	r.seen = now
	r.row.Health = &p
	return true
}

// read reads everything that is new.
func (r *reader) read(ctx context.Context, o *solehold.Options) Directory {
	s, err := solehold.Inspect(ctx, r.path, o)
	if err != nil {
		s = solehold.Status{Dir: r.path, State: solehold.NotKnown, Err: err}
	}
	if s.Record.Class == "" {
		s.Record.Class = "none"
	}
	if s.Err != nil {
		d := Directory{Report: diagnose.Report{Status: s, Error: s.Err.Error()}, Problem: problemOf(s.Err)}
		r.story.fill(&d)
		return r.named(d)
	}
	p, err := r.history()
	d := Directory{Report: diagnose.FromEvents(s, r.story.recent, p)}
	r.story.fill(&d)
	if s.State != solehold.Free {
		d.Remote = s.Record.Cluster
	}
	if s.State == solehold.Free {
		d.LastRefused = time.Time{}
	}
	d.Problem = problemOf(err)
	if d.Problem == nil {
		d.Problem = recordProblem(s)
	}
	if err == nil {
		r.incidents(ctx, &d, o)
	}
	return r.named(d)
}

func (r *reader) named(d Directory) Directory {
	d.Path, d.Looked = r.path, r.when.UTC()
	if o := d.Owner; o != nil {
		bounded := *o // a command line may be a megabyte
		bounded.Command = clipped(o.Command)
		d.Owner = &bounded
	}
	return d
}

// mostCommand is how much of a command line is kept.
const mostCommand = 2048

func clipped(words []string) []string {
	left := mostCommand
	var all []string
	for _, w := range words {
		if left -= len(w) + 1; left < 0 {
			return append(all, "…")
		}
		all = append(all, w)
	}
	return all
}

// history takes in what was added to it, and reads the newest answer of the service.
func (r *reader) history() (p journal.Pulse, err error) {
	s, err := datadir.StateOf(r.path, "")
	if errors.Is(err, datadir.ErrNoState) {
		r.follower, r.story = journal.Follower{}, story{}
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer s.Close()
	if before := r.files; r.at(s.Path()) != before {
		r.known = false // they lie elsewhere: what was seen before all was read is not theirs
	}
	r.probed = r.stat(r.files[healthFile]).there
	p, _ = journal.ReadPulse(s) // half written is as good as none
	return p, r.follower.Next(s, func() { r.story = story{} }, r.story.add)
}

func (r *reader) incidents(ctx context.Context, d *Directory, o *solehold.Options) {
	ids, err := diagnose.IncidentIDs(ctx, r.path, o)
	if err != nil {
		d.Problem = problemOf(err)
		return
	}
	if d.Incidents = len(ids); len(ids) > 0 {
		d.NewestIncident = ids[len(ids)-1]
	}
}

// problemOf is nil for no error.
func problemOf(err error) *Problem {
	if err == nil {
		return nil
	}
	p := &Problem{Kind: Other, Detail: err.Error()}
	var refused *datadir.RefusedError
	var op *solehold.OpError
	switch {
	case errors.Is(err, solehold.ErrUnanswered):
		p.Kind = Hung
	case errors.Is(err, fs.ErrNotExist):
		p.Kind = Vanished
	case errors.Is(err, fs.ErrPermission):
		p.Kind = Permission
	case errors.As(err, &refused), errors.As(err, &op) && op.Reason == solehold.Refused, errors.Is(err, evidence.ErrNotOurs):
		p.Kind = Foreign
	}
	return p
}

// recordProblem tells of a record that says nothing about this machine, or nothing
// at all.
func recordProblem(s solehold.Status) *Problem {
	switch s.Record.Class {
	case "foreign":
		return &Problem{Foreign, "record: " + s.Record.Why + ": " + s.Record.Detail}
	case "unreadable":
		if s.Record.Why == "not-permitted" {
			return &Problem{Permission, "record: " + s.Record.Detail}
		}
		return &Problem{Unreadable, "record: " + s.Record.Why + ": " + s.Record.Detail}
	}
	return nil
}
