package solehold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/record"
)

func inspect(ctx context.Context, dir string, o Options) (Status, error) {
	s, err := bounded(ctx, call[Status]{dir, "ask for the lock", o.Timeout, func() (Status, error) { return look(dir, o) }, func(Status) {}})
	if errors.Is(err, ErrUnanswered) {
		return Status{Dir: dir, State: NotKnown, Err: err, Record: RecordStatus{Class: "none"}}, nil
	}
	return s, err
}

// nameLimit is how long an owner may take from the lock to its record.
const nameLimit = 300 * time.Millisecond

// inspectNamed looks again where the record is still the predecessor's: a new
// owner would be told with nothing but its pid, or as what that has left.
func inspectNamed(ctx context.Context, dir string, o Options) (Status, error) {
	end := time.Now().Add(min(nameLimit, o.Timeout))
	s, err := inspect(ctx, dir, o)
	for wait := 4 * time.Millisecond; err == nil && s.Owner != nil && s.Owner.unnamed && time.Now().Add(wait).Before(end); wait *= 2 {
		time.Sleep(wait)
		s, err = inspect(ctx, dir, o)
	}
	return s, err
}

// looks is how often a danger is looked at before it is told: for a moment an
// owner that comes or goes between two questions looks like one.
const looks = 5

// look asks the kernel about mark and lock, then the record for labels.
func look(dir string, o Options) (Status, error) {
	d, err := datadir.Open(dir)
	if err != nil {
		return Status{}, opError("open the data directory", dir, err)
	}
	c := &claim{dir: d}
	defer c.close()
	s := Status{Dir: d.Path(), Filesystem: d.Filesystem(self().proc)}
	var marked, locked bool
	for range looks {
		c.closeState()
		if marked, err = c.marked(o); err != nil {
			s.State, s.Err = NotKnown, opError("ask for the mark", dir, err)
			return s, nil
		}
		locked, err = c.openForQuery(o)
		s.record(c)
		if locked || err != nil || !marked && s.Record.Class != "live" {
			break
		}
	}
	switch {
	case marked || locked:
		s.held(c, locked, err)
	case err != nil && !errors.Is(err, fs.ErrPermission):
		s.State, s.Err = NotKnown, opError("ask for the lock", dir, err)
	case err != nil:
		// An owner always has the mark, and that could be asked.
		s.State, s.Record = Free, RecordStatus{Class: "unreadable", Why: "not-permitted", Detail: err.Error()}
	case s.Record.Class == "live":
		s.State = Unguarded
		s.Findings = append(s.Findings, fmt.Sprintf("pid %d of the record lives but does not hold the lock", s.Record.alive))
	default:
		s.State = Free
	}
	return s, nil
}

// openForQuery opens what exists, for reading only, and asks whether the lock at
// the path is held.
func (c *claim) openForQuery(o Options) (bool, error) {
	if c.state == nil {
		state, err := c.openState(o, false)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		c.state = state
	}
	f, err := c.state.OpenRead(datadir.LockName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.lock, c.ready = f, true
	return oslock.Held(f.FD(), oslock.Owner)
}

func (s *Status) held(c *claim, locked bool, err error) {
	owner := c.sighting().owner()
	s.Owner, s.State = &owner, Held
	switch {
	case err != nil:
		s.Findings = append(s.Findings, "the lock file cannot be read: "+err.Error())
	case !locked && anchorAlone:
		s.Findings = append(s.Findings, "its holder has ended; a process that was given the anchor keeps the directory")
	case !locked:
		s.State = Detached
		s.Findings = append(s.Findings, "the owner's lock file is no longer at "+c.lockPath()+"; a new start is refused by the mark on the directory")
	}
	s.Record.whileHeld()
	if owner.Proven && s.Record.Class == "stale" && s.Record.PID != 0 && owner.PID != s.Record.PID {
		s.Findings = append(s.Findings, "the record names pid "+fmt.Sprint(s.Record.PID)+", which does not hold the lock")
	}
}

// whileHeld corrects the class of a record whose directory is held: what cannot
// be judged from here is not stale, and nothing is known of what cannot be read.
func (r *RecordStatus) whileHeld() {
	switch {
	case r.Class == "stale" && r.Why == "empty":
		r.Class = "unreadable"
	case r.Class == "stale" && r.unknown:
		r.Class = "foreign"
	}
}

func (c *claim) lockPath() string {
	if c.state != nil {
		return c.state.Path() + "/" + datadir.LockName
	}
	return c.dir.Given() + "/" + datadir.StateName + "/" + datadir.LockName
}

// record judges the record. It says nothing about who holds the lock.
func (s *Status) record(c *claim) {
	s.Record, s.Token = RecordStatus{Class: "none"}, 0
	if !c.ready {
		return
	}
	rec, err := record.Decode(readRecord(c.lock))
	if err != nil {
		s.Record.Class, s.Record.Why = "unreadable", "torn"
		if errors.Is(err, record.ErrEmpty) {
			s.Record.Class, s.Record.Why = "stale", "empty"
		}
		s.Record.Detail = err.Error()
		return
	}
	s.Token = rec.Token
	s.Record = judgeRecord(c, rec)
}

func judgeRecord(c *claim, rec *record.Record) RecordStatus {
	r := RecordStatus{
		State: string(rec.State), PID: rec.Holder.PID, Name: Printable(rec.Name),
		Token: rec.Token, Acquired: rec.Acquired,
	}
	if rec.Child != nil {
		r.Child = rec.Child.PID
	}
	if rec.Cluster != nil {
		c := Cluster(*rec.Cluster)
		c.Engine, c.Key = Printable(c.Engine), Printable(c.Key)
		r.Cluster = &c
	}
	if rec.State == record.Released {
		r.Class = "released"
		return r
	}
	v := self().observer.Judge(idOf(rec.Holder.Process), rec.Holder.MachineID)
	r.alive = rec.Holder.PID
	if rec.Child != nil && v.Life != procid.Alive {
		if child := self().observer.Judge(idOf(*rec.Child), rec.Holder.MachineID); child.Life == procid.Alive {
			v, r.alive = child, rec.Child.PID
		}
	}
	r.Class, r.Why, r.Detail, r.unknown = "stale", string(v.Why), v.Detail, v.Life == procid.Unknown
	switch {
	case v.Why == procid.OtherMachine:
		r.Class = "foreign"
	case v.Why == procid.SameProcess && copied(c, rec):
		r.Why, r.Detail = "restored-copy", copyDetail(c, rec)
	case v.Life == procid.Alive:
		r.Class, r.Why = "live", ""
	case copied(c, rec) && v.Why != procid.OtherBoot:
		r.Why, r.Detail = "restored-copy", copyDetail(c, rec)
	default:
		r.Detail = fmt.Sprintf("record: %s, since %s on host %s; now: %s",
			was(rec), rec.Acquired.UTC().Format("2006-01-02 15:04:05Z"), Printable(rec.Holder.Host), Printable(v.Detail))
	}
	return r
}

// was names the recorded process, and its child where there was one.
func was(rec *record.Record) string {
	text := fmt.Sprintf("pid %d was %s", rec.Holder.PID, CommandLine(rec.Holder.Command))
	if rec.Child != nil {
		text += fmt.Sprintf(", with child pid %d %s", rec.Child.PID, CommandLine(rec.Child.Command))
	}
	return text
}

// copied reports whether the record was written to another file than this one.
func copied(c *claim, rec *record.Record) bool {
	return record.FileID(c.lock.Key()) != rec.Lock
}

func copyDetail(c *claim, rec *record.Record) string {
	return fmt.Sprintf("the record was written for file %s, this file is %s: the directory is a copy", datadir.Key(rec.Lock), c.lock.Key())
}

func filesystemOf(dir string) (Filesystem, error) {
	d, err := datadir.Open(dir)
	if err != nil {
		return Filesystem{}, opError("open the directory", dir, err)
	}
	defer d.Close()
	return d.Filesystem(self().proc), nil
}
