package solehold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/record"
)

// core is the system's side of a Lock.
type core struct {
	given  string // the path as it was asked for
	o      Options
	e      *entry
	lock   *Lock
	before *record.Record // the predecessor, when it left no release

	dir       *datadir.Dir // that of c, whatever file c is on
	dirMu     sync.Mutex   // guards its end
	dirClosed bool

	mu          sync.Mutex // guards what follows, and every write of the record
	c           *claim
	rec         record.Record
	encoder     *record.Encoder
	slot        int          // the slot of the newest record
	history     *journal.Log // nil where it cannot be written
	historyFile datadir.File
	shared      bool // a child may have the descriptors
	joined      bool // this process joined the holder above it
	closed      bool
	abandoned   bool // given back without work in it
	lost        bool // told, so that nothing here may be written any more
	watch       *watched
}

// newLock writes record and history of a directory that was just taken. On an
// error nothing is held any more.
func newLock(ctx context.Context, c *claim, e *entry, o Options) (*Lock, error) {
	k := &core{given: c.dir.Given(), o: o, e: e, c: c, dir: c.dir, encoder: self().encoder}
	err := k.begin()
	if err != nil {
		c.unlock()
		c.close()
		return nil, err
	}
	l := k.newLock(ctx)
	k.openHistory()
	k.warn()
	if k.before != nil {
		k.note(k.vanished(k.before))
	}
	k.note(Event{Kind: journal.Acquired, Detail: k.acquiredDetail()})
	k.startWatch()
	return l, nil
}

func (k *core) newLock(ctx context.Context) *Lock {
	l := &Lock{core: k, name: k.rec.Name, token: k.rec.Token, count: 1, releaseRequested: make(chan struct{})}
	parent := context.WithValue(context.WithoutCancel(ctx), lockOf(k.e.key), l)
	l.ctx, l.cancel = context.WithCancelCause(parent)
	k.lock = l
	return l
}

// begin reads the predecessor's record, which it keeps when that left without a
// release, and writes ours.
func (k *core) begin() error {
	buf := self().buffer()
	defer self().buffers.Put(buf)
	data := readInto(k.c.lock, buf[:])
	head, headErr := record.Newest(data)
	if headErr == nil && head.State != record.Released {
		k.before, _ = record.Decode(data)
	}
	if err := k.foreign(k.before); err != nil {
		return err
	}
	if headErr != nil || head.Damaged {
		head.Token = max(head.Token, k.lastToken())
	}
	if headErr == nil && bytes.Contains(data, []byte(`"cluster":{`)) {
		if last, err := record.Decode(data); err == nil && last.Cluster != nil {
			head.Token = max(head.Token, last.Cluster.Token) // programs were given that one
		}
	}
	if head.Token == math.MaxUint64 {
		return &OpError{Path: k.c.lock.Path(), Reason: Refused, Err: errors.New("it carries the highest token there can be, which solehold did not write")}
	}
	k.rec = k.newRecord(head)
	k.slot = head.Slot
	err := k.write(len(data) < record.FileSize)
	if err == nil && !k.o.NoSync {
		err = k.c.lock.Sync()
	}
	if err != nil {
		return opError("write the owner's record", k.c.lock.Path(), err)
	}
	return nil
}

// foreign refuses to start beside a holder on another machine whose end nobody
// here can see, where the file system is shared with it.
func (k *core) foreign(before *record.Record) error {
	if before == nil || k.c.class == datadir.Local || k.c.class == datadir.Stacked {
		return nil
	}
	mine := self().holder.MachineID
	if before.Holder.MachineID == "" || mine == "" || before.Holder.MachineID == mine {
		return nil
	}
	return &OpError{Path: k.given, Reason: Refused, Err: errors.New("the record is of host " + Printable(before.Holder.Host) +
		", another machine on this shared file system, and does not say that it let go; whether it lives cannot be seen from here")}
}

// lastToken keeps tokens rising when the lock file was removed or damaged while
// nobody held it: the history still names the last one.
func (k *core) lastToken() uint64 {
	h, err := journal.Read(k.c.state)
	if err != nil {
		k.o.OnWarning(opError("read the last token from the history", k.c.state.Path(), err))
	}
	return h.LastToken()
}

func (k *core) newRecord(before record.Head) record.Record {
	name := k.o.Name
	if name == "" {
		name = filepath.Base(os.Args[0])
	}
	return record.Record{
		Format: record.Format, Seq: before.Seq, Token: before.Token + 1, State: record.Starting,
		Nonce:    fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()), // unique, not secret
		Acquired: time.Now().UTC(), AcquiredBoottime: int64(procid.SinceBoot()),
		Lock: record.FileID(k.c.lock.Key()), Mount: self().mount(k.c.dir), Name: name, Holder: self().holder,
	}
}

// write puts the record into the slot that is not the newest. A new file gets
// both slots at once, so that later writes need no more room on the disk.
func (k *core) write(whole bool) error {
	k.rec.Seq++
	k.slot = 1 - k.slot
	buf := self().buffer()
	defer self().buffers.Put(buf)
	data := k.encoder.Append(buf[:0], &k.rec)
	at := int64(k.slot * record.SlotSize)
	if whole {
		blank := record.Blank()
		if k.slot == 0 {
			data = append(data, blank...)
		} else {
			data, at = append(blank, data...), 0
		}
	}
	_, err := k.c.lock.WriteAt(data, at)
	return err
}

// readRecord reads as much of a lock file as there is.
func readRecord(f datadir.File) []byte { return readInto(f, make([]byte, record.FileSize)) }

func readInto(f datadir.File, buf []byte) []byte {
	n, _ := f.ReadAt(buf, 0)
	return buf[:n]
}

func (k *core) openHistory() {
	err := k.openLog()
	if err == nil && k.history.Full() && !k.joined {
		k.closeHistory()
		if err = journal.Rotate(k.c.state); err == nil {
			err = k.openLog()
		}
	}
	if err != nil {
		k.o.OnWarning(opError("write the history", k.given, err))
	}
}

func (k *core) openLog() error {
	f, err := k.c.state.OpenAppend(journal.Name)
	if err != nil {
		return err
	}
	l, err := journal.Open(f)
	if err != nil {
		f.Close()
		return err
	}
	k.history, k.historyFile = l, f
	return nil
}

func (k *core) closeHistory() {
	if k.history != nil {
		k.historyFile.Close()
		k.history = nil
	}
}

func (k *core) warn() {
	if k.c.class == datadir.Local {
		return
	}
	if fsys := k.c.dir.Filesystem(self().proc); fsys.Warning != "" {
		k.o.OnWarning(errors.New(k.given + " lies on " + fsys.Type + ": " + fsys.Warning))
	}
}

// dirPath asks only the kernel, and waits for no other call: it must answer also
// while the file system hangs.
func (k *core) dirPath() string {
	k.dirMu.Lock()
	defer k.dirMu.Unlock()
	if k.dirClosed {
		return k.given
	}
	path := k.dir.Path()
	if strings.HasSuffix(path, " (deleted)") {
		return k.given
	}
	return path
}

func (k *core) filesystem() Filesystem {
	k.dirMu.Lock()
	defer k.dirMu.Unlock()
	if k.dirClosed {
		return Filesystem{}
	}
	return k.dir.Filesystem(self().proc)
}

// update changes the record and writes it.
func (k *core) update(change func(*record.Record)) error {
	k.doubt()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.joined || k.lost {
		return nil // the record belongs to the holder above, or to the next owner
	}
	change(&k.rec)
	if err := k.write(false); err != nil {
		return opError("write the owner's record", k.c.lock.Path(), err)
	}
	return nil
}

// doubt looks whether we are still the owner, where a child may have unlocked for
// all: what we wrote then would be written over the record of the next one.
func (k *core) doubt() {
	k.mu.Lock()
	shared := k.shared && !k.closed
	k.mu.Unlock()
	if shared {
		k.watch.doubt()
	}
}

// timely bounds a call that writes.
func (k *core) timely(op string, work func() error) error {
	_, err := bounded(context.Background(), call[struct{}]{
		path: k.given, op: op, timeout: k.o.Timeout, undo: func(struct{}) {},
		work: func() (struct{}, error) { return struct{}{}, work() },
	})
	return err
}

func (k *core) stateRoot() (*os.Root, error) {
	root, err := bounded(context.Background(), call[*os.Root]{
		k.given, "open the state directory", k.o.Timeout,
		func() (*os.Root, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.closed {
				return nil, os.ErrClosed
			}
			return k.c.state.Root()
		}, func(r *os.Root) { r.Close() },
	})
	if err != nil {
		return nil, opError("open the state directory", k.given, err)
	}
	return root, nil
}

func (k *core) setReady(how string) error {
	if k.joined && tellWrapper("READY=1") == nil {
		return nil // the record is the wrapper's, and it logs the event
	}
	return k.timely("write that it is ready", func() error {
		err := k.update(func(r *record.Record) { r.State = record.Ready })
		return errors.Join(err, k.log(Event{Kind: journal.Ready, Detail: how}))
	})
}

// joinedBelow asks whether somebody has the seat.
func (k *core) joinedBelow() bool {
	is, err := bounded(context.Background(), call[bool]{
		path: k.given, op: "ask who has joined", timeout: k.o.Timeout, undo: func(bool) {},
		work: func() (bool, error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.closed || k.joined {
				return false, nil
			}
			return k.c.seatTaken()
		},
	})
	return err == nil && is
}

func (k *core) setChild(child *Child) error {
	return k.timely("write the child into the record", func() error {
		return k.update(func(r *record.Record) {
			r.Child = nil
			if child != nil {
				r.Child = describeChild(child)
			}
		})
	})
}

func (k *core) setCluster(c Cluster) error {
	return k.timely("write the cluster's lock into the record", func() error {
		return k.update(func(r *record.Record) { r.Cluster = new(record.Cluster(c)) })
	})
}

func (k *core) share() []uintptr {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.shared = true
	return k.c.shared()
}

func (k *core) become(command []string) error {
	if !canExec {
		return opError("become another program on this system", k.given, errors.ErrUnsupported)
	}
	holder := self().holder
	holder.Command, holder.Exe = command, command[0]
	k.watch.stop()
	k.watch.forget()
	err := k.update(func(r *record.Record) { k.encoder, r.Name = record.NewEncoder(holder), filepath.Base(command[0]) })
	for _, fd := range k.share() {
		if clearErr := keepOverExec(fd); clearErr != nil {
			err = errors.Join(err, opError("keep the lock over execve", k.given, clearErr))
		}
	}
	return err
}

// release gives everything back. What can hang is bounded: the lock is then
// given up when the file system answers, or with the process.
func (k *core) release() error {
	_, err := bounded(context.Background(), call[struct{}]{k.given, "release", k.o.Timeout, k.letGo, func(struct{}) {}})
	return err
}

// abandon leaves the predecessor's record in place of ours, under our token,
// which is used up.
func (k *core) abandon() error {
	if k.before == nil {
		return k.release()
	}
	err := k.timely("write the predecessor's record back", func() error {
		return k.update(func(r *record.Record) {
			before := *k.before
			before.Seq, before.Token, before.Lock = r.Seq, r.Token, r.Lock
			*r, k.encoder = before, record.NewEncoder(before.Holder)
			k.abandoned = true
		})
	})
	return errors.Join(err, k.release())
}

func (k *core) letGo() (struct{}, error) {
	k.doubt()
	k.watch.stop()
	var err error
	if !k.joined && !k.isLost() {
		if !k.abandoned {
			err = k.update(func(r *record.Record) { r.State = record.Released })
		}
		detail := "held " + Age(time.Since(k.rec.Acquired))
		if k.abandoned {
			detail = "nothing was started"
		}
		err = errors.Join(err, k.log(Event{Kind: journal.Released, Detail: detail}))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.closeHistory()
	k.unlock()
	k.dirMu.Lock()
	k.dirClosed = true
	k.c.close()
	k.dirMu.Unlock()
	process.drop(k.e)
	k.watch.forget()
	return struct{}{}, err
}

func (k *core) isLost() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost
}
