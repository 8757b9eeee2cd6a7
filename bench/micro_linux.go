package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/bench/internal/floor"
	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/peers"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
	"golang.org/x/sys/unix"
)

// uncontended measures taking a free directory and giving it back.
func (b *bench) uncontended(sync bool) error {
	prefix, name := "acquire/", peers.Solehold
	if sync {
		prefix, name = "sync/", peers.SoleholdSync
	}
	if !b.wantsAny(prefix) && !b.wants(prefix+"direct") {
		return nil
	}
	ours, dir, err := b.open(name, prefix+"ours")
	if err != nil {
		return err
	}
	side := turn.Batch(name, batch, func() error { return helper.Cycle(ours) }, nil)
	bare, err := b.floorOf(prefix + "floor")
	if err != nil {
		return err
	}
	bare.Sync = sync
	b.measure(pair{prefix + "floor", "its system calls, bare", side, turn.Batch("floor", batch, bare.Cycle, bare.Tidy), true})
	if sync {
		return nil // the others sync nothing
	}
	direct, _, err := b.open(peers.SoleholdDirect, prefix+"direct")
	if err != nil {
		return err
	}
	b.measure(pair{
		prefix + "direct", "the same for ours with NoTimeout",
		turn.Batch(peers.SoleholdDirect, batch, func() error { return helper.Cycle(direct) }, nil), turn.Batch("floor", batch, bare.Cycle, bare.Tidy), true,
	})
	for _, p := range others(peers.Solehold, peers.SoleholdSync, "gofrs/flock 50 ms") {
		l, _, err := b.open(p.Name, prefix+p.Name)
		if err != nil {
			return err
		}
		b.measure(pair{prefix + p.Name, p.Name + " " + p.Calls, side, turn.Batch(p.Name, batch, takeAndDrop(l), nil), false})
	}
	return released(dir)
}

// takeAndDrop is one turn of a peer that may have no try.
func takeAndDrop(l peers.Lock) func() error {
	return func() error {
		err := l.Try()
		if errors.Is(err, errors.ErrUnsupported) {
			err = l.Wait()
		}
		if err != nil {
			return err
		}
		return l.Drop()
	}
}

// released makes sure that what was measured was the real thing.
func released(dir string) error {
	s, err := solehold.Inspect(context.Background(), dir, nil)
	if err == nil && (s.State != solehold.Free || s.Token < 2) {
		err = fmt.Errorf("%s is %s with token %d", dir, s.State, s.Token)
	}
	return err
}

// refused measures a try on what another process holds.
func (b *bench) refused() error {
	const prefix = "refused/"
	if !b.wantsAny(prefix) {
		return nil
	}
	ours, dir, err := b.open(peers.Solehold, prefix+"ours")
	if err != nil {
		return err
	}
	holder, err := hold(peers.Solehold, dir)
	if err != nil {
		return err
	}
	defer holder.Close()
	side := turn.Batch(peers.Solehold, batch, func() error { return helper.Refused(ours) }, nil)
	bare := turn.Batch("floor", batch, floor.New(dir).Refused, nil)
	b.measure(pair{prefix + "floor", "its system calls, bare", side, bare, true})
	find, err := peers.Find(peers.SoleholdDirect)
	if err != nil {
		return err
	}
	direct, err := find.Open(dir)
	if err != nil {
		return err
	}
	b.measure(pair{
		prefix + "direct", "the same for ours with NoTimeout",
		turn.Batch(peers.SoleholdDirect, batch, func() error { return helper.Refused(direct) }, nil), bare, true,
	})
	for _, p := range others(peers.Solehold, peers.SoleholdSync, "gofrs/flock 50 ms") {
		if err := b.refusedBy(p, side); err != nil {
			b.note("%s: %v", p.Name, err)
		}
	}
	return nil
}

func (b *bench) refusedBy(p peers.Peer, side turn.Side) error {
	l, dir, err := b.open(p.Name, "refused/"+p.Name)
	if err != nil {
		return err
	}
	switch err := helper.Cycle(l); {
	case errors.Is(err, errors.ErrUnsupported):
		return errors.New("has no try, only waits")
	case err != nil:
		return err
	}
	holder, err := hold(p.Name, dir)
	if err != nil {
		return err
	}
	defer holder.Close()
	b.measure(pair{"refused/" + p.Name, p.Name + " " + p.Calls, side, turn.Batch(p.Name, batch, func() error { return helper.Refused(l) }, nil), false})
	return nil
}

// hold starts a process that holds dir.
func hold(peer, dir string) (*helper.Proc, error) {
	p, err := helper.Start(peer, dir)
	if err != nil {
		return nil, err
	}
	if _, err := p.Do("try"); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// queries measures what is asked without taking anything.
func (b *bench) queries() error {
	ours, dir, err := b.open(peers.Solehold, "queries")
	if err != nil {
		return err
	}
	if err := ours.Try(); err != nil {
		return err
	}
	defer ours.Drop()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	again, err := peers.Find(peers.Solehold)
	if err != nil {
		return err
	}
	second, err := again.Open(dir)
	if err != nil {
		return err
	}
	bare := floor.New(dir)
	b.alone("refused/in-process", "refused try in the holder's process, absolute path", func() error { return helper.Refused(second) })
	b.alone("refused/mark", "is there an owner: open, F_OFD_GETLK, close, bare", bare.Query)
	b.alone("refused/mark-fd", "the same on an open directory: F_OFD_GETLK, bare", func() error { return bare.Ask(fd) })
	b.alone("refused/inspect", "who is the owner: Inspect", func() error { return inspect(dir) })
	return nil
}

func inspect(dir string) error {
	s, err := solehold.Inspect(context.Background(), dir, nil)
	if err == nil && s.State != solehold.Held {
		err = fmt.Errorf("%s is %s", dir, s.State)
	}
	return err
}

// alone measures what has nothing beside it.
func (b *bench) alone(key, what string, op func() error) {
	if !b.wants(key) {
		return
	}
	all, err := b.plan(false).Run(turn.Batch(what, batch, op, nil))
	if err != nil {
		b.note("%s: %v", what, err)
		return
	}
	b.single(key, what, "ns", report.FigureOf(all[0], false))
}

// open makes a directory and prepares a peer there.
func (b *bench) open(peer, place string) (peers.Lock, string, error) {
	p, err := peers.Find(peer)
	if err != nil {
		return nil, "", err
	}
	dir, err := b.place(place)
	if err != nil {
		return nil, "", err
	}
	l, err := p.Open(dir)
	return l, dir, err
}

// floorOf is the floor on a directory of its own that was held before.
func (b *bench) floorOf(place string) (*floor.Floor, error) {
	l, dir, err := b.open(peers.Solehold, place)
	if err != nil {
		return nil, err
	}
	return floor.New(dir), helper.Cycle(l)
}
