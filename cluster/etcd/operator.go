package etcd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/cluster"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// baseOf reads what tokens are above revisions. What cannot be read could make a token that does not rise.
func baseOf(kvs []*mvccpb.KeyValue) (uint64, error) {
	if len(kvs) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseUint(string(kvs[0].Value), 10, 62)
	if err != nil {
		return 0, fmt.Errorf("etcd: the key %s is not a number that solehold wrote", kvs[0].Key)
	}
	return n, nil
}

// Look reads claims and what was left of earlier ones, at one revision.
func (b *Backend) Look(ctx context.Context, name string) ([]cluster.Seen, error) {
	get := func(key string) clientv3.Op {
		if name != "" {
			return clientv3.OpGet(key)
		}
		return clientv3.OpGet(key, clientv3.WithPrefix())
	}
	answer, err := b.client.Txn(ctx).Then(get(b.claimKey(name)), get(b.lastKey(name)), get(b.baseKey(name))).Commit()
	if err != nil {
		return nil, b.away(err)
	}
	by := make([]map[string]*mvccpb.KeyValue, 3)
	var names []string
	for i, r := range answer.Responses {
		by[i] = map[string]*mvccpb.KeyValue{}
		for _, kv := range r.GetResponseRange().Kvs {
			n := string(kv.Key)[strings.LastIndex(string(kv.Key), "/")+1:]
			if by[i][n] = kv; i == 0 || i == 1 && by[0][n] == nil {
				names = append(names, n)
			}
		}
	}
	left := map[int64]time.Duration{}
	var all []cluster.Seen
	for _, n := range names {
		s, err := b.seen(ctx, n, [3]*mvccpb.KeyValue{by[0][n], by[1][n], by[2][n]}, left)
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

// seen puts one lock together: its claim, what was left, its base. Leases are asked for once each.
func (b *Backend) seen(ctx context.Context, escaped string, kvs [3]*mvccpb.KeyValue, left map[int64]time.Duration) (cluster.Seen, error) {
	name, err := cluster.UnescapeName(escaped)
	if err != nil {
		name = escaped // not ours
	}
	claim, last := kvs[0], kvs[1]
	var base uint64
	var unread error
	if kvs[2] != nil {
		base, unread = baseOf(kvs[2:])
	}
	if unread == nil {
		b.bases.Store(name, base)
	}
	if claim == nil {
		s := cluster.SeenOf(name, b.claimKey(name), "", string(last.Value))
		s.Highest = base + uint64(last.ModRevision)
		return s, nil
	}
	note := ""
	if last != nil {
		note = string(last.Value)
	}
	s := cluster.SeenOf(name, string(claim.Key), cmp.Or(string(claim.Value), " "), note) // an empty one is somebody else's
	if unread != nil {
		return s, unread
	}
	s.Token = base + uint64(claim.ModRevision)
	s.Highest = s.Token
	if _, asked := left[claim.Lease]; !asked && claim.Lease != 0 {
		t, err := b.client.TimeToLive(ctx, clientv3.LeaseID(claim.Lease))
		if err != nil {
			return s, plain(err)
		}
		left[claim.Lease] = time.Duration(max(t.TTL, 0)) * time.Second
	}
	s.Left = left[claim.Lease]
	return s, nil
}

// Raise writes the base of a free lock.
func (b *Backend) Raise(ctx context.Context, name string, above uint64) error {
	key, claim := b.baseKey(name), b.claimKey(name)
	there, err := b.client.Get(ctx, key)
	if err != nil {
		return plain(err)
	}
	base, err := baseOf(there.Kvs)
	if err != nil || base >= above {
		return err
	}
	var at int64
	if len(there.Kvs) > 0 {
		at = there.Kvs[0].ModRevision
	}
	text, word := strconv.FormatUint(above, 10), cluster.LifeOf(cluster.Record{}, above, cluster.Raised)
	if _, err := strconv.ParseUint(text, 10, 62); err != nil {
		return fmt.Errorf("etcd: %d is too high for a token", above)
	}
	answer, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(claim), "=", 0), clientv3.Compare(clientv3.ModRevision(key), "=", at)).
		Then(clientv3.OpPut(key, text), clientv3.OpPut(b.raisedKey(name), word.Text())).
		Else(clientv3.OpGet(claim)).Commit()
	switch {
	case err != nil:
		return plain(err)
	case answer.Succeeded:
		return nil
	}
	if kvs := answer.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		return cluster.HeldBy(name, claim, string(kvs[0].Value), base+uint64(kvs[0].ModRevision))
	}
	return fmt.Errorf("etcd: %s was changed by somebody else meanwhile: look again", key)
}

// Break deletes a claim in one transaction with the word about it.
func (b *Backend) Break(ctx context.Context, name string, token uint64, why string) error {
	claim := b.claimKey(name)
	there, err := b.client.Txn(ctx).Then(clientv3.OpGet(claim), clientv3.OpGet(b.baseKey(name)), clientv3.OpGet(b.lastKey(name))).Commit()
	if err != nil {
		return plain(err)
	}
	base, err := baseOf(there.Responses[1].GetResponseRange().Kvs)
	kvs := there.Responses[0].GetResponseRange().Kvs
	switch {
	case err != nil:
		return err
	case len(kvs) == 0 || base+uint64(kvs[0].ModRevision) != token:
		return cluster.ErrNotThere
	}
	beside := ""
	if last := there.Responses[2].GetResponseRange().Kvs; len(last) > 0 {
		beside = string(last[0].Value)
	}
	text, err := cluster.BrokenRecord(string(kvs[0].Value), beside, why)
	if err != nil {
		return fmt.Errorf("the key %s: %w", claim, err)
	}
	answer, err := b.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(claim), "=", kvs[0].ModRevision)).
		Then(clientv3.OpDelete(claim), clientv3.OpPut(b.lastKey(name), text), b.broken(name, text, token, there),
			clientv3.OpDelete(b.placesOf(name, kvs[0].Lease), clientv3.WithPrefix())).Commit()
	if err == nil && !answer.Succeeded {
		return cluster.ErrNotThere
	}
	return plain(err)
}
