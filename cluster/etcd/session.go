package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// verifyOps is how many claims one transaction looks at: servers take 128 operations by default.
const verifyOps = 100

// session is one lease.
type session struct {
	b      *Backend
	id     clientv3.LeaseID
	ttl    time.Duration
	keeper *keeper
	kv     pb.KVClient
	batch  *batch
	queue  *queue
	gone   chan cluster.Claim
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	asked  cluster.Asked

	versions sync.Map // by nonce: that of what is left at the claim
}

// watchAfter is how long a claim is held before it is watched: short ones do not pay for it.
const watchAfter = 50 * time.Millisecond

func newSession(b *Backend, g *clientv3.LeaseGrantResponse) *session {
	s := &session{
		b: b, id: g.ID, ttl: time.Duration(g.TTL) * time.Second, gone: make(chan cluster.Claim, 64),
	}
	// Without a leader a member would keep our streams open and silent.
	s.ctx, s.cancel = context.WithCancel(clientv3.WithRequireLeader(context.Background()))
	s.kv = clientv3.RetryKVClient(b.client)
	s.keeper, s.batch = newKeeper(s), newBatch(s.ctx, s.commit)
	s.queue = &queue{s: s, ready: map[string][]*place{}, owned: map[string]*place{}}
	return s
}

// commit sends one transaction, which may have others in it.
func (s *session) commit(ctx context.Context, txn *pb.TxnRequest) (*pb.TxnResponse, error) {
	answer, err := s.kv.Txn(ctx, txn)
	return answer, clientv3.ContextError(ctx, err)
}

// TTL is what was granted.
func (s *session) TTL() time.Duration { return s.ttl }

// Gone gives claims whose key was seen to change.
func (s *session) Gone() <-chan cluster.Claim { return s.gone }

// Renew sends one renewal on the keep-alive stream.
func (s *session) Renew(ctx context.Context) ([]string, error) { return nil, s.keeper.renew(ctx) }

// Claim is one transaction. A lock that was seen to be held is looked at first, which writes nothing to the log. That
// tokens were raised is found out by a first try, and known from then on.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	claim, last, base := s.b.claimKey(r.Name), s.b.lastKey(r.Name), s.b.baseKey(r.Name)
	text := s.asked.Ask(r).Record.Text()
	free, look := absent(claim), []*pb.RequestOp{get(claim), get(base)}
	if _, held := s.b.held.Load(r.Name); held {
		answer, err := s.commit(ctx, &pb.TxnRequest{Compare: []*pb.Compare{free}, Failure: look})
		if err != nil {
			return cluster.Grant{}, plain(err)
		}
		if !answer.Succeeded {
			return s.refused(r, text, answer)
		}
	}
	take := []*pb.RequestOp{
		put(&pb.PutRequest{Key: []byte(claim), Value: []byte(text), Lease: int64(s.id)}),
		put(&pb.PutRequest{Key: []byte(last), Value: []byte(text), PrevKv: true}),
	}
	for raised := s.b.base(r.Name) > 0; ; raised = true {
		is, then := []*pb.Compare{free}, take
		if raised {
			then = append(take[:2:2], look[1])
		} else {
			is = append(is, absent(base))
		}
		a := s.batch.do(ctx, r.Name, 2*len(text)+len(claim)+len(last), &pb.TxnRequest{Compare: is, Success: then, Failure: look})
		switch {
		case a.err != nil:
			return cluster.Grant{}, plain(a.err)
		case a.txn.Succeeded:
			return s.granted(r, a)
		case len(a.txn.Responses[0].GetResponseRange().Kvs) > 0 || raised:
			return s.refused(r, text, a.txn)
		}
	}
}

// granted reads the answer to a claim that was made. What was left before is nil for the first one.
func (s *session) granted(r cluster.Request, a answered) (cluster.Grant, error) {
	var base uint64
	if len(a.txn.Responses) > 2 {
		var err error
		if base, err = baseOf(a.txn.Responses[2].GetResponseRange().Kvs); err != nil {
			return cluster.Grant{}, err
		}
	}
	s.b.bases.Store(r.Name, base)
	token := base + uint64(a.revision)
	before := a.txn.Responses[1].GetResponsePut().GetPrevKv()
	s.versions.Store(r.Nonce, before.GetVersion()+1)
	s.own(r, token)
	s.foundExpired(r.Name, before, token)
	return cluster.GrantAfter(token, string(before.GetValue())), nil
}

// refused reads the claim that is there: it may be ours.
func (s *session) refused(r cluster.Request, text string, txn *pb.TxnResponse) (cluster.Grant, error) {
	base, err := baseOf(txn.Responses[1].GetResponseRange().Kvs)
	if err != nil {
		return cluster.Grant{}, err
	}
	s.b.bases.Store(r.Name, base)
	kv := txn.Responses[0].GetResponseRange().Kvs[0]
	there, token := string(kv.Value), base+uint64(kv.ModRevision)
	if clientv3.LeaseID(kv.Lease) == s.id && there == text {
		s.own(r, token)
		return cluster.Grant{Token: token, Delay: r.Delay}, nil
	}
	s.asked.Leave(r.Nonce, s.ttl)
	s.b.held.Store(r.Name, true)
	return cluster.Grant{}, cluster.HeldBy(r.Name, s.b.claimKey(r.Name), there, token)
}

// Release is one transaction. A nonce that was never asked for on this lease has no claim.
func (s *session) Release(ctx context.Context, c cluster.Claim, clean bool) error {
	mine, ok := s.asked.Get(c.Nonce)
	if !ok {
		return nil
	}
	record := mine.Record
	claim := s.b.claimKey(c.Name)
	text := record.Text()
	is := []*pb.Compare{reads(claim, text)}
	place := s.queue.release(c.Nonce)
	then := append([]*pb.RequestOp{del(claim)}, place...)
	if c.Token != 0 {
		is = append(is, written(claim, s.b.revision(c.Name, c.Token)))
		then = append(then, s.life(c, record, clean))
	}
	if clean {
		record.Ended = true
		text = record.Text()
		then = append(then, put(&pb.PutRequest{Key: []byte(s.b.lastKey(c.Name)), Value: []byte(text)}))
	}
	if a := s.batch.do(ctx, c.Name, len(text)+len(claim), &pb.TxnRequest{Compare: is, Success: then, Failure: place}); a.err != nil {
		return plain(a.err)
	}
	s.queue.released(c.Nonce)
	s.versions.Delete(c.Nonce)
	s.asked.Leave(c.Nonce, s.ttl)
	return nil
}

// Verify reads claims, with the word of a quorum.
func (s *session) Verify(ctx context.Context, claims []cluster.Claim) ([]string, error) {
	var gone []string
	for len(claims) > 0 {
		n := min(len(claims), verifyOps)
		var ours []clientv3.Cmp
		var ops []clientv3.Op
		for _, c := range claims[:n] {
			ours = append(ours, s.b.Owner(c.Name, c.Token))
			ops = append(ops, clientv3.OpGet(s.b.claimKey(c.Name), clientv3.WithKeysOnly()))
		}
		answer, err := s.b.client.Txn(ctx).If(ours...).Else(ops...).Commit()
		if err != nil {
			return gone, plain(err)
		}
		for i := range answer.Responses { // none where all are ours
			c := claims[i]
			kvs := answer.Responses[i].GetResponseRange().Kvs
			if len(kvs) == 0 || kvs[0].ModRevision != s.b.revision(c.Name, c.Token) { // the revision is that of our write alone
				gone = append(gone, c.Nonce)
				s.queue.lost(c.Nonce)
			}
		}
		claims = claims[n:]
	}
	return gone, nil
}

// own takes note of a claim that is ours, and tells of any change of it.
func (s *session) own(r cluster.Request, token uint64) {
	s.asked.Own(r.Nonce)
	s.b.held.Delete(r.Name)
	s.queue.own(r.Name, r.Nonce)
	time.AfterFunc(watchAfter, func() {
		if mine, _ := s.asked.Get(r.Nonce); mine.Owned && s.ctx.Err() == nil {
			s.follow(cluster.Claim{Name: r.Name, Nonce: r.Nonce, Token: token})
		}
	})
}

// follow begins with now and reads the claim once if anything was written since it was made: a watch from a revision that
// has passed is one that etcd serves every 100 ms.
func (s *session) follow(c cluster.Claim) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	key, revision := s.b.claimKey(c.Name), s.b.revision(c.Name, c.Token)
	for e := range s.b.client.Watch(ctx, key, clientv3.WithCreatedNotify()) {
		switch {
		case len(e.Events) > 0, e.Created && e.Header.Revision > revision && s.changed(ctx, key, revision):
			s.asked.Leave(c.Nonce, s.ttl)
			s.queue.lost(c.Nonce)
			select {
			case s.gone <- c:
			case <-s.ctx.Done():
			}
			return
		case e.Err() != nil:
			return // what is not pushed is found by Verify
		}
	}
}

// changed reads whether a key is not what was written at a revision. That it cannot be read says nothing.
func (s *session) changed(ctx context.Context, key string, revision int64) bool {
	answer, err := s.b.client.Get(ctx, key, clientv3.WithKeysOnly())
	return err == nil && (len(answer.Kvs) == 0 || answer.Kvs[0].ModRevision != revision)
}

// Revoke ends the lease.
func (s *session) Revoke(ctx context.Context) error {
	defer s.cancel()
	_, err := s.b.client.Revoke(ctx, s.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return plain(err)
}
