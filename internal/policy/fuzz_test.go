package policy_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

// FuzzStep gives each configuration inputs and times of the fuzzer's choice and judges all commands.
func FuzzStep(f *testing.F) {
	f.Add(uint8(0), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13})
	f.Add(uint8(3), []byte{0, 27, 14, 1, 27, 14, 7, 27, 14, 1, 27, 14, 20})
	f.Fuzz(func(t *testing.T, which uint8, bytes []byte) {
		names := []string{"run", "run report", "run startup", "run startup only", "run bare", "watch", "watch report", "watch startup", "watch once"}
		s := searches()[names[int(which)%len(names)]]
		w, err := s.world(0)
		if err != nil {
			t.Fatal(err)
		}
		all := acts(s.cfg.Mode)
		for _, b := range bytes {
			a := all[int(b)%len(all)]
			if a.late != nil && w.wake == policy.Never {
				continue
			}
			if err := a.do(w); err != nil {
				t.Fatal(a.name, err)
			}
		}
		if err := settles(w); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLongWalks goes further than the search: thousands of steps that mostly make sense.
func TestLongWalks(t *testing.T) {
	for name, s := range searches() {
		for seed := range uint64(30) {
			r := rand.New(rand.NewPCG(seed, 1))
			w, err := s.world(0)
			if err != nil {
				t.Fatal(err)
			}
			all := acts(s.cfg.Mode)
			for range 400 {
				a := all[r.IntN(len(all))]
				if a.name == "stop" && r.IntN(50) > 0 || a.late != nil && w.wake == policy.Never {
					continue
				}
				if r.IntN(3) == 0 {
					_, err = w.step(w.mend())
				} else {
					err = a.do(w)
				}
				if err != nil {
					t.Fatalf("%s, seed %d: %s: %v", name, seed, a.name, err)
				}
			}
			if err := settles(w); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
		}
	}
}

// FuzzInput gives fields that no shell would: the machine neither panics nor sets its timer to the past.
func FuzzInput(f *testing.F) {
	f.Add(uint8(2), uint8(2), uint64(1), int64(5), 0.5, uint8(3))
	f.Add(uint8(9), uint8(255), uint64(math.MaxUint64), int64(-1), math.NaN(), uint8(255))
	f.Fuzz(func(t *testing.T, mode, kind uint8, id uint64, nanos int64, random float64, word uint8) {
		cfg := policy.Config{Mode: policy.Mode(mode % 2), HasHealth: true, Restart: policy.RestartAlways, Backoff: policy.Backoff{Base: 1}}
		m, err := policy.New(cfg, policy.Memory{Failures: random, Age: time.Duration(nanos), Previous: time.Duration(nanos)}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Hour
		for i, k := range []policy.Kind{policy.Begin, policy.Kind(kind), policy.LockState, policy.ProbeResult, policy.Exited, policy.Kind(kind)} {
			now += time.Duration(uint32(nanos)) // hours at most: a clock does not jump to the end of time
			in := policy.Input{
				Kind: k, For: id + uint64(i), Verdict: policy.Verdict(word), Lock: policy.Lock(word), TreeDead: true,
				Exit: policy.Exit{Code: int(int32(nanos))}, Rand: random, Holder: id,
			}
			for _, c := range m.Step(now, in) {
				if c.Op == policy.Wake && c.At < now || c.String() == "" {
					t.Fatalf("at %v: %v", now, c)
				}
			}
		}
	})
}
