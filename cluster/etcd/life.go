package etcd

import (
	"context"
	"fmt"

	"github.com/solehold/solehold/cluster"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// ring is how many places there are for the lives of a lock. The place of one is the version of the key of what is left at
// its claim, which each claim and each end raises by one: so the lives of the last ring/2 tenures at least are there, and
// nothing need be counted or deleted.
const ring = 2 * cluster.LivesKept

// lifeKey is where a life lies, by the version at its claim.
func (b *Backend) lifeKey(name string, version int64) string {
	return fmt.Sprintf("%s%03d", b.livesPrefix(name), version%ring)
}

func (b *Backend) livesPrefix(name string) string {
	return b.key("lives/", name) + "/"
}

// raisedKey has the last word of an operator about the tokens.
func (b *Backend) raisedKey(name string) string { return b.livesPrefix(name) + cluster.Raised }

// lifeText is a life without the nonce: the place is that of one claim.
func lifeText(l cluster.Life) []byte {
	l.Nonce = ""
	return []byte(l.Text())
}

// life gives what writes the life of a claim that ends, in the transaction of its release. Of a claim whose first answer was
// lost the version is not known: its token has to do.
func (s *session) life(c cluster.Claim, r cluster.Record, clean bool) *pb.RequestOp {
	version := int64(c.Token)
	if v, ok := s.versions.Load(c.Nonce); ok {
		version, _ = v.(int64)
	}
	l := cluster.LifeOf(r, c.Token, cluster.Given(clean))
	return put(&pb.PutRequest{Key: []byte(s.b.lifeKey(c.Name, version)), Value: lifeText(l)})
}

// foundExpired writes the life of a predecessor that nobody has ended, in the background: what is left was written last by
// its claim, so its token and version are those of that. Who has written to the place since knows better.
func (s *session) foundExpired(name string, before *mvccpb.KeyValue, next uint64) {
	token := s.b.base(name) + uint64(before.GetModRevision())
	l, ok := cluster.LifeBefore(string(before.GetValue()), token, next)
	if !ok {
		return
	}
	key := s.b.lifeKey(name, before.Version)
	older := written(key, before.ModRevision)
	older.Result = pb.Compare_LESS
	cluster.Later(s.ttl/5, func(ctx context.Context) {
		s.commit(ctx, &pb.TxnRequest{
			Compare: []*pb.Compare{older}, Success: []*pb.RequestOp{put(&pb.PutRequest{Key: []byte(key), Value: lifeText(l)})},
		})
	})
}

// broken gives what writes the life of a claim that is broken.
func (b *Backend) broken(name, text string, token uint64, there *clientv3.TxnResponse) clientv3.Op {
	version := int64(token)
	if kvs := there.Responses[2].GetResponseRange().Kvs; len(kvs) > 0 {
		version = kvs[0].Version
	}
	r, _ := cluster.ParseRecord(text)
	return clientv3.OpPut(b.lifeKey(name, version), string(lifeText(cluster.LifeOf(r, token, cluster.Broken))))
}

// Lives reads the places of the lives of a lock.
func (b *Backend) Lives(ctx context.Context, name string) ([]cluster.Life, error) {
	answer, err := b.client.Get(ctx, b.livesPrefix(name), clientv3.WithPrefix())
	if err != nil {
		return nil, plain(err)
	}
	var texts []string
	for _, kv := range answer.Kvs {
		texts = append(texts, string(kv.Value))
	}
	return cluster.ReadLives(texts), nil
}
