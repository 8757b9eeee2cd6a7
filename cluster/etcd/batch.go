package etcd

import (
	"context"
	"runtime"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// The bounds of one transaction that carries others: servers take 128 operations and 1.5 MiB by default.
const (
	batchOps  = 100
	batchSize = 256 << 10
)

// batchPace is how long a transaction waits for the answer of the one before it, to go together with what else is asked
// for meanwhile. A server that is slow, or gone, holds up nothing for longer.
const batchPace = 5 * time.Millisecond

// batch sends what is asked for at the same time as one transaction, which has the others in it, each with its own
// condition: a hundred locks cost one entry of the log. What is asked for alone is sent alone and at once.
type batch struct {
	ctx    context.Context
	pace   time.Duration
	commit func(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error)
	turn   chan struct{} // has an element while a batch is under way

	mu      sync.Mutex
	waiting []*asking
	due     bool // somebody will send what waits
}

// asking is one transaction of a caller.
type asking struct {
	ctx    context.Context
	lock   string // two about one lock are never sent together: no key is written twice
	size   int
	txn    *pb.TxnRequest
	answer chan answered
}

// answered is what came of it, with the revision of the whole.
type answered struct {
	txn      *pb.TxnResponse
	revision int64
	err      error
}

func newBatch(ctx context.Context, commit func(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error)) *batch {
	return &batch{ctx: ctx, pace: batchPace, commit: commit, turn: make(chan struct{}, 1)}
}

// do sends a transaction about a lock and awaits its answer. When the context ends first it returns, and what has not been
// sent by then never is.
func (b *batch) do(ctx context.Context, lock string, size int, txn *pb.TxnRequest) answered {
	a := &asking{ctx: ctx, lock: lock, size: size, txn: txn, answer: make(chan answered, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, a)
	due := b.due
	b.due = true
	b.mu.Unlock()
	if !due {
		b.begin(ctx)
	}
	select {
	case answer := <-a.answer:
		return answer
	case <-ctx.Done():
		return answered{err: context.Cause(ctx)}
	}
}

// begin sends what waits, here where it is one transaction that its caller waits for, which saves the way to another
// goroutine and back. Else another does.
func (b *batch) begin(ctx context.Context) {
	select {
	case b.turn <- struct{}{}:
	default:
		go b.send()
		return
	}
	send := func(all []*asking) {
		defer func() { <-b.turn }()
		b.commitAll(all)
	}
	if all := b.take(); len(all) == 1 && all[0].ctx == ctx {
		send(all)
	} else {
		go send(all)
	}
}

// send sends what waits when it is its turn.
func (b *batch) send() {
	late := time.NewTimer(b.pace)
	defer late.Stop()
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-late.C:
	}
	b.commitAll(b.take())
}

// gather lets all ask who are about to: as long as each look finds more.
func (b *batch) gather() {
	for n, before := 0, -1; n > before; {
		before = n
		runtime.Gosched()
		b.mu.Lock()
		n = len(b.waiting)
		b.mu.Unlock()
	}
}

// commitAll sends transactions as one, and gives each its answer.
func (b *batch) commitAll(all []*asking) {
	if len(all) == 0 {
		return
	}
	ctx, cancel := b.context(all)
	defer cancel()
	request := all[0].txn
	if len(all) > 1 {
		request = together(all)
	}
	txn, err := b.commit(ctx, request)
	for i, a := range all {
		switch {
		case err != nil:
			a.answer <- answered{err: err}
		case len(all) == 1:
			a.answer <- answered{txn, txn.Header.Revision, nil}
		default:
			a.answer <- answered{txn.Responses[i].GetResponseTxn(), txn.Header.Revision, nil}
		}
	}
}

// take takes what can go together, in order, and leaves the rest to another.
func (b *batch) take() []*asking {
	b.gather()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all, rest []*asking
	size, locks := 0, map[string]bool{}
	for _, a := range b.waiting {
		switch {
		case a.ctx.Err() != nil: // nobody waits for it
		case len(all) > 0 && (len(all) == batchOps || locks[a.lock] || size+a.size > batchSize):
			rest = append(rest, a)
			locks[a.lock] = true // what follows about the same lock stays behind it
		default:
			all = append(all, a)
			size += a.size
			locks[a.lock] = true
		}
	}
	b.waiting, b.due = rest, len(rest) > 0
	if b.due {
		go b.send()
	}
	return all
}

// context ends with the first deadline of all: none may arrive later than its caller counts on.
func (b *batch) context(all []*asking) (context.Context, context.CancelFunc) {
	if len(all) == 1 {
		return context.WithCancel(all[0].ctx)
	}
	first := time.Time{}
	for _, a := range all {
		if at, ok := a.ctx.Deadline(); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return context.WithCancel(b.ctx)
	}
	return context.WithDeadline(b.ctx, first)
}
