package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
)

// schedule is one random run: clients with faults on their wires, all from a seed.
type schedule struct {
	random *rand.Rand
	ttl    time.Duration
	begin  time.Time
	engine *cluster.Memory
	h      clustertest.History
	faults []cluster.Faults
}

// TestFaultSchedules runs random fault schedules in virtual time. A holder works on after it was told, until its work is
// killed and up to a tenth of the time to live longer; still there may never be two.
func TestFaultSchedules(t *testing.T) {
	n := max(100, int(1000*clustertest.Soak()))
	total := 0
	for seed := range n {
		synctest.Test(t, func(t *testing.T) {
			s := &schedule{random: rand.New(rand.NewPCG(uint64(seed), 2)), ttl: 10 * time.Second, begin: time.Now(), engine: cluster.NewMemory()}
			s.run(t)
			if err := s.h.Check(); err != nil {
				t.Errorf("seed %d: %v\nfaults %v", seed, err, s.faults)
			}
			total += s.h.Len()
		})
	}
	t.Logf("%d schedules, %d tenures", n, total)
	if total < n {
		t.Error("the faults leave hardly any tenure: they test nothing")
	}
}

// run lets three clients compete for 200 virtual seconds.
func (s *schedule) run(t *testing.T) {
	var all sync.WaitGroup
	for i := range 3 {
		faults := s.some()
		s.faults = append(s.faults, faults)
		seed := s.random.Uint64()
		all.Go(func() {
			w := &worker{s: s, id: i, random: rand.New(rand.NewPCG(seed, 3))}
			w.work(t, s.engine.Client(faults))
		})
	}
	all.Wait()
	<-time.After(time.Minute) // messages that are late; a bubble's time ends with this goroutine
}

// some gives random faults that the text of rules can say.
func (s *schedule) some() cluster.Faults {
	ops := []cluster.Op{cluster.OpGrant, cluster.OpRenew, cluster.OpClaim, cluster.OpVerify, cluster.OpRelease, cluster.OpRevoke, cluster.OpWait, cluster.OpAny}
	var all cluster.Faults
	for range s.random.IntN(6) {
		f := cluster.Fault{Op: ops[s.random.IntN(len(ops))], Answer: s.random.IntN(2) == 0}
		if s.random.IntN(2) == 0 {
			f.Late = time.Duration(1+s.random.IntN(1900)) * time.Millisecond
		}
		if s.random.IntN(2) == 0 {
			f.From = 1 + s.random.IntN(8)
			f.To = f.From + s.random.IntN(6)
		} else {
			f.Since = time.Duration(s.random.IntN(150)) * time.Second
			f.Until = f.Since + time.Duration(s.random.IntN(15_000))*time.Millisecond
		}
		all = append(all, f)
	}
	return all
}

// worker is one client.
type worker struct {
	s      *schedule
	id     int
	random *rand.Rand
}

func (w *worker) now() time.Duration { return time.Since(w.s.begin) }

func (w *worker) work(t *testing.T, b cluster.Backend) {
	c, err := cluster.New(b, cluster.Options{TTL: w.s.ttl, Grace: 2 * time.Second, Clock: cluster.NewProcessClock()})
	if err != nil {
		t.Error(err)
		return
	}
	for w.now() < 200*time.Second {
		w.once(c)
		<-time.After(time.Duration(w.random.IntN(500)) * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c.Close(ctx)
}

func (w *worker) once(c *cluster.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+w.random.IntN(20_000))*time.Millisecond)
	defer cancel()
	tenure := clustertest.Tenure{Client: w.id, Name: "lock", Called: w.now()}
	l, err := c.Acquire(ctx, "lock", cluster.AcquireOptions{Wait: w.random.IntN(3) > 0})
	if err != nil {
		return
	}
	tenure.Token, tenure.Owned = l.Token(), w.now()
	end := time.After(time.Duration(w.random.IntN(20_000)) * time.Millisecond)
	dying := time.Duration(w.random.Int64N(int64(w.s.ttl / 10)))
	select {
	case <-end:
	case <-l.Killed():
		<-time.After(dying)
	}
	tenure.Acted = w.now()
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if l.Release(ctx) == nil && context.Cause(l.Context()) == context.Canceled {
		tenure.Released = w.now()
	}
	w.s.h.Add(tenure)
}

// TestPlantedDoubleGrant lets the engine grant a held lock again, which the history must show.
func TestPlantedDoubleGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{random: rand.New(rand.NewPCG(1, 2)), ttl: 10 * time.Second, begin: time.Now(), engine: cluster.NewMemory()}
		s.engine.DoubleGrant = 5
		s.run(t)
		if err := s.h.Check(); err == nil {
			t.Error("two owners were not found")
		}
	})
}

func ExampleParseFaults() {
	f, err := cluster.ParseFaults("renew.answer lost 2-4; *.request late 300ms @1s..9s")
	fmt.Println(f, err)
	// Output: renew.answer lost 2-4; *.request late 300ms @1s..9s <nil>
}
