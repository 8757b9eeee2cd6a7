package etcd

import (
	"context"

	"github.com/solehold/solehold/cluster"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Stick is the transaction of a claim, without a lease.
func (b *Backend) Stick(ctx context.Context, r cluster.Request) (cluster.Grant, error) {
	if err := b.lookAtVersions(ctx); err != nil {
		return cluster.Grant{}, err
	}
	claim, last, base := b.claimKey(r.Name), b.lastKey(r.Name), clientv3.OpGet(b.baseKey(r.Name))
	text := cluster.RecordOf(r).Text()
	answer, err := b.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(claim), "=", 0)).
		Then(clientv3.OpGet(last), clientv3.OpPut(claim, text), clientv3.OpPut(last, text), base).
		Else(clientv3.OpGet(claim), base).Commit()
	if err != nil {
		return cluster.Grant{}, plain(err)
	}
	above, err := baseOf(answer.Responses[len(answer.Responses)-1].GetResponseRange().Kvs)
	if err != nil {
		return cluster.Grant{}, err
	}
	kvs := answer.Responses[0].GetResponseRange().Kvs
	b.bases.Store(r.Name, above)
	switch {
	case !answer.Succeeded:
		return cluster.StuckBy(r, claim, string(kvs[0].Value), above+uint64(kvs[0].ModRevision))
	case len(kvs) > 0:
		return cluster.GrantAfter(above+uint64(answer.Header.Revision), string(kvs[0].Value)), nil
	}
	return cluster.GrantAfter(above+uint64(answer.Header.Revision), ""), nil
}

// Note writes the key beside the claim, which keeps its revision.
func (b *Backend) Note(ctx context.Context, c cluster.Claim, from, to string) error {
	if !cluster.Beside(c, from) {
		return cluster.ErrNotThere
	}
	if _, known := b.bases.Load(c.Name); !known {
		if _, err := b.Look(ctx, c.Name); err != nil { // it learns the base
			return err
		}
	}
	last := b.lastKey(c.Name)
	answer, err := b.client.Txn(ctx).If(b.Owner(c.Name, c.Token), clientv3.Compare(clientv3.Value(last), "=", from)).
		Then(clientv3.OpPut(last, to)).Commit()
	if err == nil && !answer.Succeeded {
		return cluster.ErrNotThere
	}
	return plain(err)
}
