package etcd

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// sends is a server that answers when it is let: with the number of the transaction and of the place in it.
type sends struct {
	began chan int // how many went together
	let   chan error

	mu        sync.Mutex
	revision  int64
	deadlines []time.Time
}

// commit knows a batch by its empty condition.
func (s *sends) commit(ctx context.Context, txn *pb.TxnRequest) (*pb.TxnResponse, error) {
	s.mu.Lock()
	s.revision++
	revision := s.revision
	at, _ := ctx.Deadline()
	s.deadlines = append(s.deadlines, at)
	s.mu.Unlock()
	n := 1
	if len(txn.Compare) == 0 {
		n = len(txn.Success)
	}
	s.began <- n
	select {
	case err := <-s.let:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	whole := &pb.TxnResponse{Header: &pb.ResponseHeader{Revision: revision}, Succeeded: true}
	for i := range n {
		one := &pb.TxnResponse{Header: &pb.ResponseHeader{MemberId: uint64(i)}}
		whole.Responses = append(whole.Responses, &pb.ResponseOp{Response: &pb.ResponseOp_ResponseTxn{ResponseTxn: one}})
	}
	return whole, nil
}

func one(key string) *pb.TxnRequest {
	return &pb.TxnRequest{Compare: []*pb.Compare{absent(key)}, Success: []*pb.RequestOp{get(key)}}
}

// ask asks for locks, and returns when all wait to be sent.
func ask(ctx context.Context, b *batch, names []string, size int) chan answered {
	answers := make(chan answered, len(names))
	b.mu.Lock()
	before := len(b.waiting)
	b.mu.Unlock()
	for i, name := range names {
		go func() { answers <- b.do(ctx, name, size, one(name)) }()
		for n := 0; n <= i+before; runtime.Gosched() { // in order
			b.mu.Lock()
			n = len(b.waiting)
			b.mu.Unlock()
		}
	}
	return answers
}

func locks(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("lock ", i))
	}
	return names
}

// busy is a batch whose first transaction is under way.
func busy(t *testing.T, pace time.Duration) (*batch, *sends, chan answered) {
	t.Helper()
	s := &sends{began: make(chan int, 100), let: make(chan error, 100)}
	b := newBatch(t.Context(), s.commit)
	b.pace = pace
	first := make(chan answered, 1)
	go func() { first <- b.do(t.Context(), "first", 10, one("first")) }()
	if n := <-s.began; n != 1 {
		t.Fatalf("the first is one of %d", n)
	}
	return b, s, first
}

func TestBatch(t *testing.T) {
	t.Parallel()
	double := []string{"a", "b", "a", "c", "a"}
	for name, c := range map[string]struct {
		locks []string
		size  int
		want  []int
	}{
		"one":                          {locks(1), 10, []int{1}},
		"all together":                 {locks(99), 10, []int{99}},
		"not more than servers take":   {locks(250), 10, []int{100, 100, 50}},
		"not more bytes either":        {locks(5), batchSize/2 - 1, []int{2, 2, 1}},
		"one that is too large, alone": {locks(2), batchSize + 1, []int{1, 1}},
		"two of one lock":              {double, 10, []int{3, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, first := busy(t, time.Hour)
			answers := ask(t.Context(), b, c.locks, c.size)
			s.let <- nil
			if a := <-first; a.err != nil || a.revision != 1 || !a.txn.Succeeded {
				t.Errorf("the first: %+v", a)
			}
			got := map[string]bool{}
			for i, want := range c.want {
				if n := <-s.began; n != want {
					t.Errorf("transaction %d has %d of %v", i, n, c.want)
				}
				s.let <- nil
				for range want {
					a := <-answers
					if a.err != nil || a.revision != int64(i+2) {
						t.Errorf("%+v", a)
					}
					if want > 1 {
						got[fmt.Sprint(i, a.txn.Header.MemberId)] = true
					}
				}
				if want > 1 && len(got) != want {
					t.Errorf("%d answers for %d", len(got), want)
				}
				clear(got)
			}
		})
	}
}

// What waits is not held up by a transaction that nobody answers.
func TestBatchIsNotHeldUp(t *testing.T) {
	t.Parallel()
	b, s, _ := busy(t, time.Millisecond)
	done := make(chan answered)
	go func() { done <- b.do(t.Context(), "second", 10, one("second")) }()
	<-s.began
	s.let <- nil // one of the two is answered, whichever it is
	s.let <- nil
	if a := <-done; a.err != nil {
		t.Error(a.err)
	}
}

// What its caller has given up before it was sent is never sent; a whole ends with the first deadline of its parts; and an
// error is that of each part.
func TestBatchContexts(t *testing.T) {
	t.Parallel()
	b, s, first := busy(t, time.Hour)
	gone, cancel := context.WithCancelCause(t.Context())
	left := ask(gone, b, locks(3), 10)
	why := errors.New("given up")
	cancel(why)
	for range 3 {
		if a := <-left; !errors.Is(a.err, why) {
			t.Errorf("%+v", a)
		}
	}
	var early time.Time
	var all []chan answered
	for i, d := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		if d == time.Hour {
			early, _ = ctx.Deadline()
		}
		all = append(all, ask(ctx, b, []string{fmt.Sprint("of ", i)}, 10))
	}
	s.let <- nil
	<-first
	if n := <-s.began; n != 3 {
		t.Errorf("%d were sent, want the 3 that somebody waits for", n)
	}
	s.mu.Lock()
	if at := s.deadlines[1]; !at.Equal(early) {
		t.Errorf("it ends at %v, its earliest part at %v", at, early)
	}
	s.mu.Unlock()
	s.let <- why
	for _, a := range all {
		if a := <-a; !errors.Is(a.err, why) {
			t.Errorf("%+v", a)
		}
	}
}
