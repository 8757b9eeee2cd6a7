package etcd

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// What batches carry is made of the messages themselves: the client's own operations copy each condition three times, which
// is a tenth of what a hundred locks cost.

// absent is the condition that there is no such key.
func absent(key string) *pb.Compare {
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_CREATE, TargetUnion: &pb.Compare_CreateRevision{}}
}

// written is the condition that a key was written last at a revision.
func written(key string, revision int64) *pb.Compare {
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: revision}}
}

// reads is the condition that a key has this text.
func reads(key, text string) *pb.Compare {
	return &pb.Compare{Key: []byte(key), Target: pb.Compare_VALUE, TargetUnion: &pb.Compare_Value{Value: []byte(text)}}
}

func get(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(key)}}}
}

func put(r *pb.PutRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: r}}
}

func del(key string) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)}}}
}

// absentBelow is the condition that no key begins like this.
func absentBelow(prefix string) *pb.Compare {
	c := absent(prefix)
	c.RangeEnd = []byte(clientv3.GetPrefixRangeEnd(prefix))
	return c
}

func nested(txn *pb.TxnRequest) *pb.RequestOp {
	return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: txn}}
}

// together is one transaction that has others in it.
func together(all []*asking) *pb.TxnRequest {
	whole := &pb.TxnRequest{Success: make([]*pb.RequestOp, len(all))}
	for i, a := range all {
		whole.Success[i] = nested(a.txn)
	}
	return whole
}
