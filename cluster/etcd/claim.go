package etcd

import (
	"context"
	"slices"
	"sync"

	"github.com/solehold/solehold/cluster"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Claim is one transaction. A lock that was seen to be held is looked at first, which writes nothing to the log. That
// tokens were raised is found out by a first try, and known from then on.
func (s *session) Claim(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	w, base := s.writing(r), s.b.baseKey(r.Name)
	free, look := absent(w.claim), []*pb.RequestOp{get(w.claim), get(base)}
	if _, held := s.b.held.Load(r.Name); held {
		answer, err := s.commit(ctx, &pb.TxnRequest{Compare: []*pb.Compare{free}, Failure: look})
		if err != nil {
			return cluster.Grant{}, plain(err)
		}
		if !answer.Succeeded {
			return s.refused(r, w.text, answer)
		}
	}
	take := []*pb.RequestOp{w.take, w.note}
	for raised := s.b.base(r.Name) > 0; ; raised = true {
		is, then := []*pb.Compare{free}, take
		if raised {
			then = append(take[:2:2], look[1])
		} else {
			is = append(is, absent(base))
		}
		a := s.batch.do(ctx, r.Name, w.size(), &pb.TxnRequest{Compare: is, Success: then, Failure: look})
		switch {
		case a.err != nil:
			return cluster.Grant{}, plain(a.err)
		case a.txn.Succeeded:
			return s.grantedAbove(r, a)
		case len(a.txn.Responses[0].GetResponseRange().Kvs) > 0 || raised:
			return s.refused(r, w.text, a.txn)
		}
	}
}

// writing is what a claim writes.
type writing struct {
	claim, text string        // key and value
	take, note  *pb.RequestOp // of the claim, and of what is left of it
}

func (s *session) writing(r cluster.Request) writing {
	w := writing{claim: s.b.claimKey(r.Name), text: s.asked.Ask(r).Record.Text()}
	w.take = put(&pb.PutRequest{Key: []byte(w.claim), Value: []byte(w.text), Lease: int64(s.id)})
	w.note = put(&pb.PutRequest{Key: []byte(s.b.lastKey(r.Name)), Value: []byte(w.text), PrevKv: true})
	return w
}

// size is about that of the transaction.
func (w writing) size() int { return 2 * (len(w.text) + len(w.claim)) }

// ClaimEach takes up to a hundred locks with one transaction, which has no more in it than that they are free: this is
// expected of locks that are not known to be held. Where one is not, it and those beside it are claimed one by one.
func (s *session) ClaimEach(ctx context.Context, all []cluster.Request) []cluster.Answer {
	answers := make([]cluster.Answer, len(all))
	var free, rest []int
	for i, r := range all {
		if _, held := s.b.held.Load(r.Name); held || s.b.raised.Load() {
			rest = append(rest, i)
		} else {
			free = append(free, i)
		}
	}
	for part := range slices.Chunk(free, batchOps) {
		rest = append(rest, s.claimFree(ctx, all, part, answers)...)
	}
	var one sync.WaitGroup
	for _, i := range rest {
		one.Go(func() { answers[i].Grant, answers[i].Err = s.Claim(ctx, all[i]) })
	}
	one.Wait()
	return answers
}

// freeOps is how many locks are taken or not by one condition: a server counts the two writes of each, and lets what is
// nested have as many operations fewer as there are above it.
const freeOps = batchOps / 2

// claimFree takes part of all, and gives what is not free.
func (s *session) claimFree(ctx context.Context, all []cluster.Request, part []int, answers []cluster.Answer) (rest []int) {
	whole := &pb.TxnRequest{Compare: []*pb.Compare{absentBelow(s.b.baseKey(""))}}
	groups := slices.Collect(slices.Chunk(part, freeOps))
	size := 0
	for _, group := range groups {
		txn := &pb.TxnRequest{}
		for _, i := range group {
			w := s.writing(all[i])
			txn.Compare, txn.Success = append(txn.Compare, absent(w.claim)), append(txn.Success, w.take, w.note)
			size += w.size()
		}
		whole.Success = append(whole.Success, nested(txn))
	}
	if size > batchSize {
		return part
	}
	answer, err := s.commit(ctx, whole)
	switch {
	case err != nil:
		for _, i := range part {
			answers[i].Err = plain(err)
		}
		return nil
	case !answer.Succeeded:
		s.b.raised.Store(true)
		return part
	}
	for g, group := range groups {
		txn := answer.Responses[g].GetResponseTxn()
		if !txn.Succeeded {
			rest = append(rest, group...)
			continue
		}
		for n, i := range group {
			before := txn.Responses[2*n+1].GetResponsePut().GetPrevKv()
			answers[i].Grant = s.granted(all[i], 0, uint64(answer.Header.Revision), before)
		}
	}
	return rest
}

// grantedAbove reads the answer to a claim that was made, with the base of its tokens if it asked for that.
func (s *session) grantedAbove(r cluster.Request, a answered) (cluster.Grant, error) {
	var base uint64
	if len(a.txn.Responses) > 2 {
		var err error
		if base, err = baseOf(a.txn.Responses[2].GetResponseRange().Kvs); err != nil {
			return cluster.Grant{}, err
		}
	}
	return s.granted(r, base, base+uint64(a.revision), a.txn.Responses[1].GetResponsePut().GetPrevKv()), nil
}

// granted takes note of a claim that was made. What was left before is nil for the first one.
func (s *session) granted(r cluster.Request, base, token uint64, before *mvccpb.KeyValue) cluster.Grant {
	s.b.bases.Store(r.Name, base)
	s.versions.Store(r.Nonce, before.GetVersion()+1)
	s.own(r, token)
	g := cluster.GrantAfter(token, string(before.GetValue()))
	if !g.Clean {
		s.foundExpired(r.Name, before, token)
	}
	return g
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
