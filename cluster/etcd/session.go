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
