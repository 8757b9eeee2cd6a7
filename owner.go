package solehold

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/record"
)

// sighting is what a refused starter or a query saw of a held directory.
type sighting struct {
	keys   []datadir.Key // the directory, and the lock file where it could be opened
	dirUID int
	data   []byte // the lock file's content
}

func (c *claim) sighting() sighting {
	s := sighting{keys: []datadir.Key{c.dir.Key()}, dirUID: c.dir.UID()}
	if c.ready {
		s.data = readRecord(c.lock)
		s.keys = append(s.keys, c.lock.Key())
	}
	return s
}

// owner finds the process that holds the directory: the recorded one when it can
// be seen to hold it, else whoever is seen to share the lock's descriptor.
func (s sighting) owner() Owner {
	rec, err := record.Decode(s.data)
	if err != nil {
		rec = nil
	}
	f := finder{sighting: s, rec: rec, proc: self().proc}
	return f.find()
}

// named is the owner once it has said who it is.
func (s sighting) named(path string, again Options) Owner {
	o := s.owner()
	if !o.unnamed {
		return o
	}
	now, err := inspectNamed(context.Background(), path, again)
	if err != nil || now.Owner == nil {
		return o // it has gone meanwhile
	}
	return *now.Owner
}

// finder looks for one owner.
type finder struct {
	sighting
	rec  *record.Record
	proc procfs.FS
}

func (f *finder) find() Owner {
	recorded, hidden := f.recorded()
	if recorded.Proven {
		return recorded
	}
	sharing, gaps := f.scan()
	switch {
	case len(sharing) > 0:
		return f.seen(sharing)
	case hidden:
		return recorded
	}
	return f.unseen(recorded, gaps)
}

// recorded checks the processes that the record names, the child first. hidden
// says that one of them lives but may not be looked into.
func (f *finder) recorded() (o Owner, hidden bool) {
	if f.unrecorded() {
		return Owner{}, false
	}
	candidates := []record.Process{f.rec.Holder.Process}
	if f.rec.Child != nil {
		candidates = slices.Insert(candidates, 0, *f.rec.Child)
	}
	for _, p := range candidates {
		v := self().observer.Judge(idOf(p), f.rec.Holder.MachineID)
		if v.Life != procid.Alive || v.Why != procid.SameProcess {
			continue
		}
		if f.holds(p.PID) {
			o = f.describe(p.PID)
			o.Proven, o.Proof = true, proof()
			return o, false
		}
		if note := f.hidden(p.PID); note != "" && !hidden {
			hidden, o = true, f.describe(p.PID)
			o.Proof = []string{"start time", "boot"}
			o.Notes = append(o.Notes, note)
		}
	}
	return o, hidden
}

// seen chooses among the processes that share the descriptor: the recorded
// child, the recorded holder, else the one that was there first.
func (f *finder) seen(pids []int) Owner {
	rank := func(pid int) int {
		switch {
		case f.rec != nil && f.is(pid, f.rec.Child):
			return 0
		case f.rec != nil && f.is(pid, &f.rec.Holder.Process):
			return 1
		}
		return 2
	}
	start := func(pid int) uint64 { st, _ := f.proc.Stat(pid); return st.StartTicks }
	first := slices.MinFunc(pids, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(start(a), start(b)), cmp.Compare(a, b))
	})
	o := f.describe(first)
	o.Proven, o.Proof, o.Sharing = true, []string{"lock"}, pids
	if f.rec == nil {
		o.Notes = append(o.Notes, "it wrote no record that can be read")
	} else if rank(first) == 2 {
		o.Notes = append(o.Notes, "it inherited the lock's descriptor")
	}
	o.unnamed = f.unrecorded() || rank(first) == 2
	return o
}

// unrecorded reports whether the record is of nobody who could have the directory.
func (f *finder) unrecorded() bool { return f.rec == nil || f.rec.State == record.Released }

func (f *finder) unseen(o Owner, gaps procfs.Gaps) Owner {
	o = Owner{Host: o.Host}
	note := unseenNote(gaps)
	o.Notes = append(o.Notes, note)
	o.unnamed = !seesHolders && f.unrecorded()
	if !f.unrecorded() {
		p := f.rec.Holder.Process
		v := self().observer.Judge(idOf(p), f.rec.Holder.MachineID)
		o.unnamed = !seesHolders && v.Life == procid.Dead
		o.Notes = append(o.Notes, fmt.Sprintf("the record names pid %d (%s) of host %s: %s",
			p.PID, CommandLine(p.Command), Printable(f.rec.Holder.Host), v.Detail))
		o.Since, o.Name = f.rec.Acquired, Printable(f.rec.Name)
	}
	return o
}

// describe tells about a process: by what can be seen of it now, and by the
// record where that is its own.
func (f *finder) describe(pid int) Owner {
	o := Owner{PID: pid}
	if st, err := f.proc.Stat(pid); err == nil {
		o.StartTicks = st.StartTicks
	}
	o.Command, _ = f.proc.Cmdline(pid)
	o.Exe, _ = f.proc.Exe(pid)
	if st, err := f.proc.Status(pid); err == nil {
		uid := int(st.UID)
		o.UID, o.User = &uid, userName(&record.Holder{UID: uid})
		if uid != f.dirUID && uid != 0 {
			o.Notes = append(o.Notes, fmt.Sprintf("it is not the data directory's owner (uid %d)", f.dirUID))
		}
	}
	if f.unrecorded() {
		return o
	}
	f.fromRecord(&o)
	return o
}

func (f *finder) fromRecord(o *Owner) {
	r := f.rec
	mine := &r.Holder.Process
	if !f.is(o.PID, mine) {
		mine = r.Child
		if r.Holder.PIDNS == self().observer.Self().PIDNS {
			o.Wrapper = r.Holder.PID
		}
		o.WrapperGone = f.dead(r, r.Holder.Process)
		o.Leftover = o.WrapperGone && r.Child != nil && !f.is(o.PID, r.Child) && f.dead(r, *r.Child)
	}
	if f.is(o.PID, mine) {
		if len(o.Command) == 0 {
			o.Command, o.Exe = mine.Command, mine.Exe
		}
		if o.StartTicks == 0 {
			o.StartTicks = mine.StartTicks
		}
		if o.UID == nil && mine == &r.Holder.Process {
			o.UID, o.User = uidOf(&r.Holder), Printable(userName(&r.Holder))
		}
	}
	o.Since, o.Name, o.Host = r.Acquired, Printable(r.Name), Printable(r.Holder.Host)
	from := r.Holder.Origin
	o.StartedBy, o.Unit, o.Container, o.TTY = Printable(from.By), Printable(from.Unit), Printable(from.Container), from.TTY
}

// uidOf is the number of the account, nil where it has none.
func uidOf(h *record.Holder) *int {
	if h.UID < 0 {
		return nil
	}
	return &h.UID
}

func userName(h *record.Holder) string {
	if h.UID < 0 {
		return h.User
	}
	u, err := user.LookupId(strconv.Itoa(h.UID))
	if err != nil {
		return ""
	}
	return u.Username
}

// orphan looks for the child of the predecessor, when that left no release. The
// record of another file says nothing: the directory may be a copy of one whose
// owner is well. Proven is only a process whose environment names this directory.
func (k *core) orphan() *Owner {
	if k.before == nil || k.before.Child == nil || copied(k.c, k.before) {
		return nil
	}
	v := self().observer.Judge(idOf(*k.before.Child), k.before.Holder.MachineID)
	if v.Life != procid.Alive || v.Why != procid.SameProcess {
		return nil
	}
	f := finder{rec: k.before, proc: self().proc, sighting: sighting{dirUID: k.c.dir.UID()}}
	o := f.describe(k.before.Child.PID)
	named, err := f.worksIn(o.PID, k.e.key)
	if err == nil && !named {
		return nil
	}
	if o.Proven = named; named {
		o.Proof = []string{"start time", "boot", "environment"}
	}
	return &o
}

// worksIn reports whether a process was started by a run for this directory.
func (f *finder) worksIn(pid int, key datadir.Key) (bool, error) {
	environ, err := f.proc.Text(pid, "environ")
	if err != nil {
		return false, err
	}
	for v := range strings.SplitSeq(environ, "\x00") {
		if dir, ok := strings.CutPrefix(v, DirVar+"="); ok {
			k, err := datadir.KeyOf(dir)
			return err == nil && k == key, nil
		}
	}
	return false, nil
}

// is reports whether a pid that is visible here is the process of the record: by
// the kernel's own number where both have one, which also finds it in another
// pid namespace.
func (f *finder) is(pid int, p *record.Process) bool {
	if p == nil {
		return false
	}
	if p.PIDNS == self().observer.Self().PIDNS {
		return p.PID == pid
	}
	id, err := procid.Of(f.proc, pid)
	return err == nil && p.PidfsID != 0 && id.PidfsID == p.PidfsID
}

// dead reports whether a process that the record names is proven to be gone.
func (f *finder) dead(r *record.Record, p record.Process) bool {
	return self().observer.Judge(idOf(p), r.Holder.MachineID).Life == procid.Dead
}
