package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// queue is the places of a session among those who wait for locks. A place is a key on the waiter's lease, and its order
// that of its creation. Each waiter watches the place before its own, the first one the claim; an owner that has waited
// keeps its place until it releases, so that one transaction frees the lock and wakes one waiter, not all of them.
//
// Places grant nothing: a claim alone decides, and who comes between is an owner like any other. They withhold nothing for
// long either: each waiter looks at the claim from time to time, so that one that stands still is passed.
type queue struct {
	s *session

	mu    sync.Mutex
	count int
	ready map[string][]*place // by lock: of waiters that were woken and are about to claim
	owned map[string]*place   // by nonce
}

// place is one place.
type place struct {
	name, key string
	revision  int64 // of its creation
	expiry    *time.Timer
}

// queuePrefix is where the places of a lock lie.
func (b *Backend) queuePrefix(name string) string {
	return b.key("queue/", name) + "/"
}

// placesOf is what the places of a lease begin with.
func (b *Backend) placesOf(name string, lease int64) string {
	return fmt.Sprintf("%s%x-", b.queuePrefix(name), lease)
}

// errUnseen is a watch that ended: the lock may be free or not.
var errUnseen = errors.New("etcd: the watch of a claim has ended")

// Wait returns when the place before ours is gone, or the claim where we are the first.
func (s *session) Wait(ctx context.Context, held *cluster.HeldError) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	w := &waiter{s: s, ctx: ctx, place: s.queue.take(held.Name)}
	defer w.close()
	free, err := w.stand(held.Name)
	if err == nil && !free {
		err = w.wait()
	}
	if err != nil {
		s.queue.leave(w.place)
		return cmp.Or(context.Cause(ctx), err)
	}
	s.b.held.Delete(held.Name) // so that the claim is asked for at once
	if w.place.revision != 0 {
		s.queue.wake(w.place)
	}
	return nil
}

// waiter is one call of Wait.
type waiter struct {
	s       *session
	ctx     context.Context
	place   *place
	seen    int64 // the revision of the last look
	watched string
	events  clientv3.WatchChan
	cancel  context.CancelFunc
}

func (w *waiter) close() {
	if w.cancel != nil {
		w.cancel()
	}
}

// stand takes a place, unless there is one from before or the lock is free.
func (w *waiter) stand(name string) (free bool, err error) {
	if w.place != nil {
		return w.look(false)
	}
	p := w.s.queue.make(name)
	answers := make(chan standing, 1)
	go func() { answers <- w.s.standAt(p) }()
	select {
	case a := <-answers:
		w.place = p
		if a.err != nil || a.free {
			return a.free, a.err
		}
		w.seen = a.revision
		w.watch(a.before)
		return false, nil
	case <-w.ctx.Done():
		go func() { // it must not be deleted before it is there
			<-answers
			w.s.queue.leave(p)
		}()
		return false, context.Cause(w.ctx)
	}
}

// standing is what came of taking a place.
type standing struct {
	free     bool
	before   string // the place before it
	revision int64
	err      error
}

// standAt takes a place while the lock is held.
func (s *session) standAt(p *place) standing {
	ctx, cancel := context.WithTimeout(s.ctx, s.ttl/5)
	defer cancel()
	answer, err := s.b.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(s.b.claimKey(p.name)), "!=", 0)).
		Then(clientv3.OpPut(p.key, "", clientv3.WithLease(s.id)),
			clientv3.OpGet(s.b.queuePrefix(p.name), append(clientv3.WithLastCreate(), clientv3.WithLimit(2), clientv3.WithKeysOnly())...)).
		Commit()
	if err != nil || !answer.Succeeded {
		return standing{free: err == nil, err: plain(err)}
	}
	p.revision = answer.Header.Revision
	a := standing{revision: p.revision}
	if kvs := answer.Responses[1].GetResponseRange().Kvs; len(kvs) > 1 {
		a.before = string(kvs[1].Key)
	}
	return a
}

// look reads who is before us, and whether the lock is free for us: for the first one, and, once in a while, for each.
func (w *waiter) look(pass bool) (free bool, err error) {
	name := w.place.name
	before := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(w.place.revision-1), clientv3.WithKeysOnly())
	answer, err := w.s.b.client.Txn(w.ctx).
		Then(clientv3.OpGet(w.s.b.claimKey(name), clientv3.WithKeysOnly()), clientv3.OpGet(w.s.b.queuePrefix(name), before...)).
		Commit()
	if err != nil {
		return false, plain(err)
	}
	w.seen = answer.Header.Revision
	first := ""
	if kvs := answer.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		first = string(kvs[0].Key)
	}
	if answer.Responses[0].GetResponseRange().Count == 0 && (first == "" || pass) {
		return true, nil
	}
	w.watch(first)
	return false, nil
}

// watch watches the place before ours; "" is the claim. It begins with now, whenever that is, and says when that was: a
// watch from a revision that has passed is one that etcd serves every 100 ms.
func (w *waiter) watch(before string) {
	key := cmp.Or(before, w.s.b.claimKey(w.place.name))
	if key == w.watched {
		return
	}
	w.close()
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(w.ctx)
	w.watched, w.events = key, w.s.b.client.Watch(ctx, key, clientv3.WithCreatedNotify(), clientv3.WithFilterPut())
}

// wait waits for the delete of what is watched.
func (w *waiter) wait() error {
	pace := w.s.ttl / 5
	pass := time.NewTimer(pace + rand.N(pace))
	defer pass.Stop()
	for {
		free, err := false, error(nil)
		select {
		case e, ok := <-w.events:
			switch {
			case len(e.Events) > 0, errors.Is(e.Err(), rpctypes.ErrCompacted):
				return nil
			case !ok || e.Err() != nil:
				return cmp.Or(plain(e.Err()), errUnseen)
			case e.Created && e.Header.Revision > w.seen: // something was written between the look and the watch
				free, err = w.look(false)
			}
		case <-pass.C:
			pass.Reset(pace + rand.N(pace))
			free, err = w.look(true)
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		}
		if free || err != nil {
			return err
		}
	}
}

// make names a place that is not there yet.
func (q *queue) make(name string) *place {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count++
	return &place{name: name, key: fmt.Sprintf("%s%d", q.s.b.placesOf(name, int64(q.s.id)), q.count)}
}

// take takes the place of a waiter that was woken, and has not become an owner.
func (q *queue) take(name string) *place {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.ready[name]
	if len(all) == 0 {
		return nil
	}
	p := all[0]
	q.drop(p)
	return p
}

// drop takes a place out of those that are ready, and reports whether it was among them.
func (q *queue) drop(p *place) bool {
	all := q.ready[p.name]
	for i := range all {
		if all[i] != p {
			continue
		}
		p.expiry.Stop()
		if q.ready[p.name] = append(all[:i:i], all[i+1:]...); len(all) == 1 {
			delete(q.ready, p.name)
		}
		return true
	}
	return false
}

// wake keeps the place of who is about to claim. Who does not is not waited for.
func (q *queue) wake(p *place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready[p.name] = append(q.ready[p.name], p)
	p.expiry = time.AfterFunc(q.s.ttl/5, func() {
		q.mu.Lock()
		there := q.drop(p)
		q.mu.Unlock()
		if there {
			q.leave(p)
		}
	})
}

// own keeps a place, if there is one, until the claim is released.
func (q *queue) own(name, nonce string) {
	p := q.take(name)
	if p == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.owned[nonce] = p
}

// release gives what takes away the place of an owner, in the transaction of its release.
func (q *queue) release(nonce string) []*pb.RequestOp {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.owned[nonce]; p != nil {
		return []*pb.RequestOp{del(p.key)}
	}
	return nil
}

// released forgets the place of an owner whose release was answered.
func (q *queue) released(nonce string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.owned, nonce)
}

// lost takes away the place of an owner whose claim is gone.
func (q *queue) lost(nonce string) {
	q.mu.Lock()
	p := q.owned[nonce]
	delete(q.owned, nonce)
	q.mu.Unlock()
	if p != nil {
		q.leave(p)
	}
}

// leave takes a place away, in the background: where that does not succeed it is passed, and ends with the lease.
func (q *queue) leave(p *place) {
	if p == nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(q.s.ctx, q.s.ttl)
		defer cancel()
		q.s.b.client.Delete(ctx, p.key)
	}()
}
