package etcd

import (
	"context"
	"runtime"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
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
	commit func(context.Context, clientv3.Op) (*pb.TxnResponse, int64, error)
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
	op     clientv3.Op
	answer chan answered
}

// answered is what came of it, with the revision of the whole.
type answered struct {
	txn      *pb.TxnResponse
	revision int64
	err      error
}

func newBatch(ctx context.Context, commit func(context.Context, clientv3.Op) (*pb.TxnResponse, int64, error)) *batch {
	return &batch{ctx: ctx, pace: batchPace, commit: commit, turn: make(chan struct{}, 1)}
}

// do sends a transaction about a lock and awaits its answer. When the context ends first it returns, and what has not been
// sent by then never is.
func (b *batch) do(ctx context.Context, lock string, size int, op clientv3.Op) answered {
	a := &asking{ctx: ctx, lock: lock, size: size, op: op, answer: make(chan answered, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, a)
	if !b.due {
		b.due = true
		go b.send()
	}
	b.mu.Unlock()
	select {
	case answer := <-a.answer:
		return answer
	case <-ctx.Done():
		return answered{err: context.Cause(ctx)}
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
	runtime.Gosched() // others may be about to ask
	all := b.take()
	if len(all) == 0 {
		return
	}
	ctx, cancel := b.context(all)
	defer cancel()
	op := all[0].op
	if len(all) > 1 {
		ops := make([]clientv3.Op, len(all))
		for i, a := range all {
			ops[i] = a.op
		}
		op = clientv3.OpTxn(nil, ops, nil)
	}
	txn, revision, err := b.commit(ctx, op)
	for i, a := range all {
		switch {
		case err != nil || len(all) == 1:
			a.answer <- answered{txn, revision, err}
		default:
			a.answer <- answered{txn.Responses[i].GetResponseTxn(), revision, nil}
		}
	}
}

// take takes what can go together, in order, and leaves the rest to another.
func (b *batch) take() []*asking {
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
