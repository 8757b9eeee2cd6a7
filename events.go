package solehold

import (
	"errors"
	"os"
	"time"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/record"
)

// event is log for the caller's own events, bounded.
func (k *core) event(e Event) error {
	return k.timely("write the history", func() error { return k.log(e) })
}

// log appends an event of this holder.
func (k *core) log(e Event) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	return k.append(e)
}

// append tells of an event and writes it, with k.mu held.
func (k *core) append(e Event) error {
	e = k.fill(e)
	if k.o.OnEvent != nil {
		k.o.OnEvent(k.dirPath(), e)
	}
	if k.history == nil {
		return nil // that the history cannot be written was told at the start
	}
	if err := k.history.Append(e); err != nil {
		return opError("write the history", k.given, err)
	}
	return nil
}

// note logs what nobody waits for; a failure is a warning.
func (k *core) note(e Event) {
	if err := k.log(e); err != nil {
		k.o.OnWarning(err)
	}
}

func (k *core) fill(e Event) Event {
	e = stamp(e)
	if e.Token == 0 {
		e.Token = k.rec.Token
	}
	if e.PID == 0 {
		e.PID = self().holder.PID
		e.Name, e.By = k.rec.Name, self().holder.Origin.By
	}
	return e
}

// stamp adds time and place.
func stamp(e Event) Event {
	e.Time, e.Seq = time.Now().UTC(), int64(procid.SinceBoot())
	e.Boot, e.Host = self().boot, self().holder.Host
	return e
}

func (k *core) acquiredDetail() string {
	if c := CommandLine(self().holder.Command); c != "" {
		return "by " + c
	}
	return ""
}

// vanished is what a successor says of a predecessor that left no release.
func (k *core) vanished(before *record.Record) Event {
	id := before.Holder.Process
	v := self().observer.Judge(idOf(id), before.Holder.MachineID)
	class := "unknown"
	switch {
	case v.Why == procid.OtherBoot && v.Life == procid.Dead:
		class = "reboot"
	case v.Life == procid.Dead:
		class = "crash"
	}
	return Event{
		Kind: journal.Vanished, Token: before.Token, PID: id.PID, Name: before.Name, UID: uidOf(&before.Holder),
		By: before.Holder.Origin.By, Class: class,
		Detail: "no release after " + Age(time.Since(before.Acquired)) + "; " + v.Detail,
	}
}

// logRefusal writes down that this process was turned away, as far as it may
// write there and the history is not flooded.
func (c *claim) logRefusal(o Options) {
	if c.state == nil {
		return
	}
	hidden, ok := process.listed(c.dir.Key(), time.Now())
	if !ok {
		return
	}
	more, ok := c.countRefusal()
	if !ok {
		return
	}
	e := refusalEvent(o, more+hidden)
	o.tell(c.dir, e)
	f, err := c.state.OpenAppend(journal.Name)
	if err == nil {
		defer f.Close()
		err = appendTo(f, e)
	}
	if err != nil && !errors.Is(err, os.ErrPermission) {
		o.OnWarning(opError("write the history", c.dir.Given(), err))
	}
}

func appendTo(f journal.File, e Event) error {
	l, err := journal.Open(f)
	if err != nil {
		return err
	}
	return l.Append(e)
}

func refusalEvent(o Options, more int) Event {
	name := o.Name
	if name == "" {
		name = CommandLine(self().holder.Command)
	}
	return stamp(Event{
		Kind: journal.Refused, PID: self().holder.PID, Name: name, UID: uidOf(&self().holder),
		By: self().holder.Origin.By, More: more,
	})
}

// countRefusal asks the limiter that all starters share. Where its file cannot
// be locked at once the refusal is listed: losing one would be worse.
func (c *claim) countRefusal() (more int, list bool) {
	f, err := c.state.OpenWrite(journal.RefusalsName)
	if err != nil {
		return 0, !errors.Is(err, os.ErrPermission)
	}
	defer f.Close()
	if !lockSoon(f.FD()) {
		return 0, true
	}
	defer oslock.Unlock(f.FD(), oslock.Owner)
	text := make([]byte, 64)
	n, _ := f.ReadAt(text, 0)
	r := journal.ParseRefusals(text[:n])
	list, more = r.Next(time.Now())
	f.WriteAt(r.Text(), 0)
	return more, list
}

// lockSoon tries for a few milliseconds: others hold this lock for microseconds.
func lockSoon(fd uintptr) bool {
	for i := range 8 {
		if oslock.TryLock(fd, oslock.Owner) == nil {
			return true
		}
		time.Sleep(time.Duration(i) * 100 * time.Microsecond)
	}
	return false
}

func describeChild(c *Child) *record.Process {
	id, err := procid.Of(self().proc, c.PID)
	if err != nil {
		return &record.Process{PID: c.PID, Cgroup: c.Cgroup, Command: c.Command}
	}
	p := processOf(id)
	p.Cgroup = c.Cgroup
	p.Exe, _ = self().proc.Exe(c.PID)
	if p.Command = c.Command; len(p.Command) == 0 {
		p.Command, _ = self().proc.Cmdline(c.PID)
	}
	return &p
}
