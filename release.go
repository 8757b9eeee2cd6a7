package solehold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/record"
)

// pending is a request and the open files through which its outcome is seen.
type pending struct {
	dir string
	o   Options
	r   ReleaseRequest
	c   *claim
	// detail is what the event says beside who this process is.
	detail string
	start  time.Time
	held   *HeldError // whom it waits for
	over   bool       // that holder has let go
	hung   bool       // a call did not return, and may still use the files
	closed bool
}

func requestRelease(ctx context.Context, dir string, r ReleaseRequest, o Options) (*pending, error) {
	p := &pending{dir: dir, o: o, r: r, start: time.Now()}
	p.detail = "by " + p.r.String()
	if p.r.By == "" {
		p.r.By, p.detail = thisAsker(), requestText(p.r.Why)
	}
	p.r.ID = fmt.Sprintf("%016x", rand.Uint64()) // unique, not secret
	return bounded(ctx, call[*pending]{
		dir, "ask its holder to let go", o.Timeout,
		func() (*pending, error) { return p, p.begin() }, func(p *pending) { p.withdraw() },
	})
}

// thisAsker names this process for people.
func thisAsker() string {
	h := self().holder
	text := fmt.Sprintf("pid %d (%s), ", h.PID, CommandLine(h.Command))
	switch name := userName(&h); {
	case h.UID < 0:
		text += "user " + name
	case name != "":
		text += fmt.Sprintf("uid %d (%s)", h.UID, name)
	default:
		text += fmt.Sprintf("uid %d", h.UID)
	}
	if h.Origin.By != "" {
		text += ", started by " + h.Origin.By
	}
	return text
}

func (p *pending) begin() error {
	d, err := datadir.Open(p.dir)
	if err != nil {
		return opError("open the data directory", p.dir, err)
	}
	p.c = &claim{dir: d}
	if err = d.Check(); err == nil {
		p.over, err = p.gone()
	}
	if err == nil && !p.over && p.r.Token != 0 {
		err = p.ask()
	}
	if err != nil {
		p.c.close()
		return opError("ask its holder to let go", p.dir, err)
	}
	return nil
}

// ask writes the history first: the request says that this was done.
func (p *pending) ask() error {
	if err := p.reopen(); err != nil {
		return err
	}
	err := p.append(Event{
		Kind: journal.ReleaseRequested, PID: self().holder.PID, Name: CommandLine(self().holder.Command), UID: uidOf(&self().holder),
		By: self().holder.Origin.By, Detail: p.detail,
	})
	p.r.Logged = err == nil
	return p.ensure()
}

// reopen makes sure that there is a state directory. One that was removed is
// made again, as its holder would: there it looks for requests.
func (p *pending) reopen() error {
	if p.c.state != nil {
		return nil
	}
	s, err := p.c.openState(p.o, true)
	if err == nil {
		p.c.state = s
	}
	return err
}

// ensure makes the request unless one to the same holder is there. Only what is
// seen to be an old request, or nothing at all, is replaced.
func (p *pending) ensure() error {
	if err := p.reopen(); err != nil {
		return err
	}
	there, err := p.there()
	var refused *datadir.RefusedError
	if errors.As(err, &refused) || err == nil && there.Token == p.r.Token {
		return err
	}
	text, err := p.r.text()
	if err != nil {
		return err
	}
	err = p.c.state.PutNew(datadir.ReleaseName, text)
	if errors.Is(err, fs.ErrExist) {
		if there, readErr := p.there(); readErr == nil && there.Token == p.r.Token {
			return nil // somebody was faster
		}
		err = p.c.state.Put(datadir.ReleaseName, text)
	}
	return err
}

// there reads the request that is in place.
func (p *pending) there() (ReleaseRequest, error) { return requestIn(p.c.state, datadir.ReleaseName) }

func requestIn(s *datadir.State, name string) (ReleaseRequest, error) {
	f, err := s.OpenRead(name)
	if err != nil {
		return ReleaseRequest{}, err
	}
	defer f.Close()
	return readRequest(f)
}

func readRequest(f datadir.File) (ReleaseRequest, error) {
	buf := make([]byte, maxRequest+1)
	n, _ := f.ReadAt(buf, 0)
	return parseRequest(buf[:n])
}

// gone asks the kernel whether anybody still has the directory, and the record
// whether that is another holder by now: the path of the lock is opened anew,
// since it may have been made anew.
func (p *pending) gone() (bool, error) {
	p.c.closeState()
	locked, err := p.c.openForQuery(p.o)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return false, err
	}
	marked, err := p.c.marked(p.o)
	if err != nil {
		return false, err
	}
	if !marked && !locked {
		return true, nil
	}
	if !p.c.ready || p.r.Token == 0 {
		return false, nil
	}
	rec, err := record.Decode(readRecord(p.c.lock))
	return err == nil && rec.Token > p.r.Token, nil
}

// look asks whether the holder has gone, and makes sure that it is asked.
func (p *pending) look() error {
	gone, err := p.gone()
	if p.over = gone; gone || err != nil {
		return err
	}
	p.held = p.c.held()
	if p.r.Token == 0 {
		return nil
	}
	return p.ensure()
}

// lookSoon looks a few times, as waiting.trySoon does.
func (p *pending) lookSoon() error {
	for i := range 3 {
		if i > 0 {
			pause(time.Duration(i*i) * 100 * time.Microsecond)
		}
		if err := p.timely("wait for the release", p.look); p.over || err != nil {
			return err
		}
	}
	return nil
}

// timely bounds a call by the time for the file system alone: one that the end
// of a context left running would share the files with the next.
func (p *pending) timely(op string, work func() error) error {
	switch {
	case p.hung:
		return unanswered(context.Background(), p.dir, op, p.o.Timeout)
	case p.closed:
		return opError(op, p.dir, os.ErrClosed)
	}
	_, err := bounded(context.Background(), call[struct{}]{
		p.dir, op, p.o.Timeout, func() (struct{}, error) { return struct{}{}, work() }, func(struct{}) {},
	})
	if p.hung = errors.Is(err, ErrUnanswered); p.hung || err == nil {
		return err
	}
	return opError(op, p.dir, err)
}

func (p *pending) wait(ctx context.Context) error {
	bell, err := newBell()
	if err != nil {
		return opError("wait for the release", p.dir, err)
	}
	defer func() { go bell.close() }()
	w := &waiting{dir: p.dir, o: p.o}
	for {
		bell.follow(p.c.lockPath()) // before the question: what comes after it is heard
		if err := p.lookSoon(); p.over || err != nil {
			return err
		}
		if ctx.Err() == nil {
			w.held = p.held
			bell.sleep(ctx, w)
		}
		if ctx.Err() != nil {
			return p.end(ctx)
		}
	}
}

func (p *pending) end(ctx context.Context) error {
	if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return &HeldError{Path: p.held.Path, Waited: time.Since(p.start), find: p.held.Holder}
}

// withdraw moves the request aside before it is removed, to be sure that it is
// ours: between a look and a removal another one could have come.
func (p *pending) withdraw() error {
	if p.closed {
		return nil
	}
	err := p.timely("withdraw the request", p.takeBack)
	p.closed = true // the numbers of its descriptors are others' by now
	return err
}

func (p *pending) takeBack() error {
	defer p.c.close()
	s := p.c.state
	if s == nil || p.r.Token == 0 {
		return nil
	}
	if there, err := p.there(); err != nil || there.ID != p.r.ID {
		return nil // somebody else's, or none
	}
	aside := datadir.ReleaseName + "." + p.r.ID
	if err := s.Move(datadir.ReleaseName, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if there, err := requestIn(s, aside); err == nil && there.ID != p.r.ID {
		if err := s.Move(aside, datadir.ReleaseName); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return s.Remove(aside)
}

func (p *pending) log(e Event) error {
	return p.timely("write the history", func() error { return p.append(e) })
}

func (p *pending) request() ReleaseRequest { return p.r }

func (p *pending) stateRoot() (*os.Root, error) {
	late := make(chan *os.Root, 1) // not a variable: work that was given up may still write it
	err := p.timely("open the state directory", func() error {
		if err := p.reopen(); err != nil {
			return err
		}
		root, err := p.c.state.Root()
		late <- root
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-late, nil
}

// append writes an event of somebody who does not hold the directory.
func (p *pending) append(e Event) error {
	if err := p.reopen(); err != nil {
		return err
	}
	e = stamp(e)
	if e.Token == 0 {
		e.Token = p.r.Token
	}
	p.o.tell(p.c.dir, e)
	f, err := p.c.state.OpenAppend(journal.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	return appendTo(f, e)
}

// sharers looks at every descriptor of every visible process.
func sharers(ctx context.Context, dir string, o Options) ([]int, error) {
	return bounded(ctx, call[[]int]{dir, "look for its holders", o.Timeout, func() ([]int, error) {
		d, err := datadir.Open(dir)
		if err != nil {
			return nil, opError("open the data directory", dir, err)
		}
		c := &claim{dir: d}
		defer c.close()
		if _, err := c.openForQuery(o); err != nil && !errors.Is(err, os.ErrPermission) {
			return nil, opError("ask for the lock", dir, err)
		}
		return c.sharers()
	}, func([]int) {}})
}
