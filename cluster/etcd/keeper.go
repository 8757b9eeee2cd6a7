package etcd

import (
	"context"
	"sync"

	"github.com/solehold/solehold/cluster"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// keeper renews on streams of its own. The client's KeepAlive does not say when it has sent what was answered, and its
// KeepAliveOnce makes a new stream each time, which costs 58 ms where passwords are used. One request is on its way on
// one stream, so an answer belongs to it; while it is not answered the next renewal takes a new stream, which the
// balancer brings to another member.
type keeper struct {
	s      *session
	leases pb.LeaseClient

	mu   sync.Mutex
	idle *keepStream
}

type keepStream struct {
	pb.Lease_LeaseKeepAliveClient
	cancel context.CancelFunc
}

func newKeeper(s *session) *keeper {
	return &keeper{s: s, leases: pb.NewLeaseClient(s.b.client.ActiveConnection())}
}

// renew sends a renewal and awaits its answer. On a stream that was idle it is tried once more with a new one.
func (k *keeper) renew(ctx context.Context) error {
	stream := k.take()
	if stream != nil {
		ttl, err := k.trip(ctx, stream)
		if err == nil || ctx.Err() != nil {
			return outcome(ttl, err)
		}
	}
	ttl, err := k.trip(ctx, nil)
	return outcome(ttl, err)
}

func outcome(ttl int64, err error) error {
	switch {
	case err != nil:
		return plain(err)
	case ttl <= 0:
		return cluster.ErrLeaseGone
	}
	return nil
}

// trip uses a stream, a new one for nil, and keeps it when it was answered.
func (k *keeper) trip(ctx context.Context, stream *keepStream) (int64, error) {
	type answer struct {
		ttl int64
		err error
	}
	answers := make(chan answer, 1)
	life, cancel := context.WithCancel(k.s.ctx)
	if stream != nil {
		cancel()
		cancel = stream.cancel
	}
	go func() {
		if stream == nil {
			s, err := k.leases.LeaseKeepAlive(life)
			if err != nil {
				answers <- answer{0, err}
				return
			}
			stream = &keepStream{s, cancel}
		}
		ttl, err := stream.once(int64(k.s.id))
		if err == nil {
			k.give(stream)
		}
		answers <- answer{ttl, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			cancel()
		}
		return a.ttl, a.err
	case <-ctx.Done():
		cancel()
		return 0, context.Cause(ctx)
	}
}

func (s *keepStream) once(id int64) (int64, error) {
	if err := s.Send(&pb.LeaseKeepAliveRequest{ID: id}); err != nil {
		return 0, err
	}
	answer, err := s.Recv()
	if err != nil {
		return 0, err
	}
	return answer.TTL, nil
}

// take takes the stream that nobody uses.
func (k *keeper) take() *keepStream {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.idle
	k.idle = nil
	return s
}

// give gives a stream back. One is enough.
func (k *keeper) give(s *keepStream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle != nil {
		s.cancel()
		return
	}
	k.idle = s
}
