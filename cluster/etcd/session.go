package etcd

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/solehold/solehold/cluster"
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
	s.keeper = newKeeper(s)
	return s
}

// TTL is what was granted.
func (s *session) TTL() time.Duration { return s.ttl }

// Gone gives claims whose key was seen to change.
func (s *session) Gone() <-chan cluster.Claim { return s.gone }

// Renew sends one renewal on the keep-alive stream.
func (s *session) Renew(ctx context.Context) ([]string, error) { return nil, s.keeper.renew(ctx) }

// Claim is one transaction.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	claim, last := s.b.claimKey(r.Name), s.b.lastKey(r.Name)
	text := s.asked.Ask(r).Record.Text()
	answer, err := s.b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(claim), "=", 0)).
		Then(
			clientv3.OpGet(last),
			clientv3.OpPut(claim, text, clientv3.WithLease(s.id)),
			clientv3.OpPut(last, text),
			clientv3.OpGet(s.b.baseKey(r.Name)),
		).
		Else(clientv3.OpGet(claim), clientv3.OpGet(s.b.baseKey(r.Name))).
		Commit()
	if err != nil {
		return cluster.Grant{}, plain(err)
	}
	base, err := baseOf(answer.Responses[len(answer.Responses)-1].GetResponseRange().Kvs)
	if err != nil {
		return cluster.Grant{}, err
	}
	s.b.bases.Store(r.Name, base)
	before := ""
	if kvs := answer.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		before = string(kvs[0].Value)
		if !answer.Succeeded {
			kv := kvs[0]
			held := cluster.HeldBy(r.Name, claim, before, base+uint64(kv.ModRevision))
			held.Position = answer.Header.Revision
			if clientv3.LeaseID(kv.Lease) == s.id && before == text {
				s.watch(r, base+uint64(kv.ModRevision))
				return cluster.Grant{Token: base + uint64(kv.ModRevision), Delay: r.Delay}, nil
			}
			s.asked.Leave(r.Nonce, s.ttl)
			return cluster.Grant{}, held
		}
	}
	token := base + uint64(answer.Header.Revision)
	s.watch(r, token)
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
	then := []clientv3.Op{clientv3.OpDelete(claim)}
	if clean {
		record.Ended = true
		then = append(then, clientv3.OpPut(s.b.lastKey(c.Name), record.Text()))
	}
	if _, err := s.b.client.Txn(ctx).If(is...).Then(then...).Commit(); err != nil {
		return plain(err)
	}
	s.asked.Leave(c.Nonce, s.ttl)
	return nil
}

// Verify reads claims, with the word of a quorum.
func (s *session) Verify(ctx context.Context, claims []cluster.Claim) ([]string, error) {
	var gone []string
	for len(claims) > 0 {
		n := min(len(claims), verifyOps)
		var ops []clientv3.Op
		for _, c := range claims[:n] {
			ops = append(ops, clientv3.OpGet(s.b.claimKey(c.Name), clientv3.WithKeysOnly()))
		}
		answer, err := s.b.client.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return gone, plain(err)
		}
		for i, c := range claims[:n] {
			kvs := answer.Responses[i].GetResponseRange().Kvs
			if len(kvs) == 0 || kvs[0].ModRevision != s.b.revision(c.Name, c.Token) { // the revision is that of our write alone
				gone = append(gone, c.Nonce)
			}
		}
		claims = claims[n:]
	}
	return gone, nil
}

// watch tells of any change of a claim after it was made.
func (s *session) watch(r cluster.Request, token uint64) {
	s.asked.Own(r.Nonce)
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

// errUnseen is a watch that ended: the lock may be free or not.
var errUnseen = errors.New("etcd: the watch of a claim has ended")

// Wait returns at the delete of a claim. It watches from the revision behind the one at which the claim was seen: a watch
// at that revision itself is taken for a late one, which etcd serves every 100 ms.
func (s *session) Wait(ctx context.Context, held *cluster.HeldError) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	events := s.b.client.Watch(ctx, s.b.claimKey(held.Name), clientv3.WithRev(held.Position+1), clientv3.WithFilterPut())
	for {
		select {
		case e, ok := <-events:
			switch {
			case len(e.Events) > 0, errors.Is(e.Err(), rpctypes.ErrCompacted):
				return nil
			case !ok || e.Err() != nil:
				return cmp.Or(context.Cause(ctx), plain(e.Err()), errUnseen)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
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
