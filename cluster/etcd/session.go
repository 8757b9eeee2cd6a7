package etcd

import (
	"context"
	"errors"
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
	batch  *batch
	queue  *queue
	gone   chan cluster.Claim
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	asked  cluster.Asked
}

// watchAfter is how long a claim is held before it is watched: short ones do not pay for it. Nothing is missed, since the
// watch begins behind the claim's own revision.
const watchAfter = 50 * time.Millisecond

func newSession(b *Backend, g *clientv3.LeaseGrantResponse) *session {
	s := &session{
		b: b, id: g.ID, ttl: time.Duration(g.TTL) * time.Second, gone: make(chan cluster.Claim, 64),
	}
	// Without a leader a member would keep our streams open and silent.
	s.ctx, s.cancel = context.WithCancel(clientv3.WithRequireLeader(context.Background()))
	s.keeper, s.batch = newKeeper(s), newBatch(s.ctx, s.commit)
	s.queue = &queue{s: s, ready: map[string][]*place{}, owned: map[string]*place{}}
	return s
}

// commit sends one transaction, which may have others in it.
func (s *session) commit(ctx context.Context, op clientv3.Op) (*pb.TxnResponse, int64, error) {
	answer, err := s.b.client.Do(ctx, op)
	if err != nil {
		return nil, 0, err
	}
	txn := (*pb.TxnResponse)(answer.Txn())
	return txn, txn.Header.Revision, nil
}

// TTL is what was granted.
func (s *session) TTL() time.Duration { return s.ttl }

// Gone gives claims whose key was seen to change.
func (s *session) Gone() <-chan cluster.Claim { return s.gone }

// Renew sends one renewal on the keep-alive stream.
func (s *session) Renew(ctx context.Context) ([]string, error) { return nil, s.keeper.renew(ctx) }

// Claim is one transaction. A lock that was seen to be held is looked at first, which writes nothing to the log.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	claim, last, base := s.b.claimKey(r.Name), s.b.lastKey(r.Name), clientv3.OpGet(s.b.baseKey(r.Name))
	text := s.asked.Ask(r).Record.Text()
	is := clientv3.Compare(clientv3.CreateRevision(claim), "=", 0)
	if _, held := s.b.held.Load(r.Name); held {
		answer, err := s.b.client.Txn(ctx).If(is).Else(clientv3.OpGet(claim), base).Commit()
		if err != nil {
			return cluster.Grant{}, plain(err)
		}
		if !answer.Succeeded {
			return s.claimed(r, text, answered{(*pb.TxnResponse)(answer), answer.Header.Revision, nil})
		}
	}
	return s.claimed(r, text, s.batch.do(ctx, r.Name, 2*len(text)+len(claim)+len(last), clientv3.OpTxn(
		[]clientv3.Cmp{is},
		[]clientv3.Op{clientv3.OpGet(last), clientv3.OpPut(claim, text, clientv3.WithLease(s.id)), clientv3.OpPut(last, text), base},
		[]clientv3.Op{clientv3.OpGet(claim), base},
	)))
}

// claimed reads the answer to a claim.
func (s *session) claimed(r cluster.Request, text string, a answered) (cluster.Grant, error) {
	if a.err != nil {
		return cluster.Grant{}, plain(a.err)
	}
	base, err := baseOf(a.txn.Responses[len(a.txn.Responses)-1].GetResponseRange().Kvs)
	if err != nil {
		return cluster.Grant{}, err
	}
	s.b.bases.Store(r.Name, base)
	before := ""
	if kvs := a.txn.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		before = string(kvs[0].Value)
		if !a.txn.Succeeded {
			kv := kvs[0]
			token := base + uint64(kv.ModRevision)
			if clientv3.LeaseID(kv.Lease) == s.id && before == text {
				s.own(r, token)
				return cluster.Grant{Token: token, Delay: r.Delay}, nil
			}
			s.asked.Leave(r.Nonce, s.ttl)
			s.b.held.Store(r.Name, true)
			return cluster.Grant{}, cluster.HeldBy(r.Name, s.b.claimKey(r.Name), before, token)
		}
	}
	token := base + uint64(a.revision)
	s.own(r, token)
	return cluster.GrantAfter(token, before), nil
}

// Release is one transaction. A nonce that was never asked for on this lease has no claim.
func (s *session) Release(ctx context.Context, c cluster.Claim, clean bool) error {
	mine, ok := s.asked.Get(c.Nonce)
	if !ok {
		return nil
	}
	record := mine.Record
	claim := s.b.claimKey(c.Name)
	is := []clientv3.Cmp{clientv3.Compare(clientv3.Value(claim), "=", record.Text())}
	if c.Token != 0 {
		is = append(is, s.b.Owner(c.Name, c.Token))
	}
	place := s.queue.release(c.Nonce)
	then := append([]clientv3.Op{clientv3.OpDelete(claim)}, place...)
	if clean {
		record.Ended = true
		then = append(then, clientv3.OpPut(s.b.lastKey(c.Name), record.Text()))
	}
	if a := s.batch.do(ctx, c.Name, len(record.Text())+len(claim), clientv3.OpTxn(is, then, place)); a.err != nil {
		return plain(a.err)
	}
	s.queue.released(c.Nonce)
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

func (s *session) follow(c cluster.Claim) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	for e := range s.b.client.Watch(ctx, s.b.claimKey(c.Name), clientv3.WithRev(s.b.revision(c.Name, c.Token)+1)) {
		switch {
		case len(e.Events) > 0:
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

// Revoke ends the lease.
func (s *session) Revoke(ctx context.Context) error {
	defer s.cancel()
	_, err := s.b.client.Revoke(ctx, s.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return plain(err)
}
