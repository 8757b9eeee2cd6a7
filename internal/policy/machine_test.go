package policy_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

// TestConfigIsChecked has one mistake in each configuration.
func TestConfigIsChecked(t *testing.T) {
	const tooLong = 20 * 365 * 24 * time.Hour
	for name, c := range map[string]policy.Config{
		"mode":         {Mode: 9},
		"restart":      {Restart: 9},
		"on-unhealthy": {OnUnhealthy: 9},
		"watch":        {Mode: policy.Watch},
		"once":         {Once: true, HasHealth: true},
		"max":          {RestartMax: -1},
		"rounds":       {RoundsAfterGap: -1},
		"cap":          {Backoff: policy.Backoff{Base: 2, Cap: 1}},
		"base":         {Backoff: policy.Backoff{Base: -1}},
		"min failing":  {MinFailing: -1},
		"rearm":        {Rearm: tooLong},
		"half-life":    {HalfLife: -1},
		"stable":       {StableAfter: -1},
		"threshold":    {Health: policy.Schedule{FailureThreshold: -1}},
		"delay":        {Startup: policy.Schedule{InitialDelay: -1}},
		"period":       {Startup: policy.Schedule{Period: tooLong}},
		"timeout":      {Health: policy.Schedule{Timeout: -1}},
	} {
		if _, err := policy.New(c, policy.Memory{}, 0); !errors.Is(err, policy.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := policy.Config{Backoff: policy.Backoff{Base: time.Hour}}
	if _, err := policy.New(long, policy.Memory{}, 0); err != nil {
		t.Errorf("a base above the default cap: %v", err)
	}
}

// TestWordsAreComplete finds a constant without a word, and a word without a constant.
func TestWordsAreComplete(t *testing.T) {
	last := map[string]string{
		policy.Ended.String(): "ended", (policy.Ended + 1).String(): "policy.State(9)",
		policy.Reset.String(): "reset", (policy.Reset + 1).String(): "policy.Kind(11)",
		policy.Recovered.String(): "recovered", (policy.Recovered + 1).String(): "policy.Op(13)",
		policy.BecauseReported.String(): "reported", (policy.BecauseReported + 1).String(): "policy.Cause(16)",
		policy.Fail.String(): "fail", (policy.Fail + 1).String(): "policy.Verdict(4)",
		policy.LockDanger.String(): "danger", (policy.LockDanger + 1).String(): "policy.Lock(4)",
		policy.Startup.String(): "startup", (policy.Startup + 1).String(): "policy.Which(2)",
	}
	for got, want := range last {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// crash makes a machine that has crashed once, with the backoff that random draws.
func crash(t *testing.T, cfg policy.Config, mem policy.Memory, random float64) policy.Memory {
	t.Helper()
	cfg.Restart = policy.RestartAlways
	m, err := policy.New(cfg, mem, 0)
	if err != nil {
		t.Fatal(err)
	}
	var id uint64
	for _, c := range m.Step(time.Hour, policy.Input{Kind: policy.Begin}) {
		id = max(id, c.ID)
	}
	m.Step(time.Hour, policy.Input{Kind: policy.Exited, For: id, Exit: policy.Exit{Code: 1}, TreeDead: true, Rand: random})
	return m.Memory()
}

// TestBackoffIsDecorrelated checks each delay against the formula: uniform(base, 3*previous), at most the cap.
func TestBackoffIsDecorrelated(t *testing.T) {
	cfg := policy.Config{Backoff: policy.Backoff{Base: time.Second, Cap: 20 * time.Second}}
	var mem policy.Memory
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		x := r.Float64()
		before := max(mem.Previous, cfg.Backoff.Base)
		mem = crash(t, cfg, policy.Memory{Previous: mem.Previous}, x)
		want := min(cfg.Backoff.Base+time.Duration(x*float64(3*before-cfg.Backoff.Base)), cfg.Backoff.Cap)
		if d := mem.Previous - want; d < -time.Microsecond || d > time.Microsecond {
			t.Fatalf("%v after %v with %v, want %v", mem.Previous, before, x, want)
		}
		if mem.Previous < cfg.Backoff.Base || mem.Previous > cfg.Backoff.Cap {
			t.Fatalf("%v is out of range", mem.Previous)
		}
	}
	for _, bad := range []float64{math.NaN(), -1, 1, math.Inf(1)} {
		if got := crash(t, cfg, policy.Memory{}, bad).Previous; got != cfg.Backoff.Base {
			t.Errorf("with the random number %v the delay is %v", bad, got)
		}
	}
	if got := crash(t, policy.Config{}, policy.Memory{}, .9).Previous; got != 0 {
		t.Errorf("without a base the delay is %v", got)
	}
}

// TestBadMemory has what a file could have that somebody edited.
func TestBadMemory(t *testing.T) {
	for _, mem := range []policy.Memory{
		{Failures: math.NaN()},
		{Failures: math.Inf(1)},
		{Failures: -3},
		{Failures: 0, Age: math.MinInt64, Previous: math.MaxInt64, Good: math.MinInt64, Seen: math.MinInt64},
	} {
		if got := crash(t, policy.Config{RestartMax: 1}, mem, 0); got.Failures != 1 || got.GivenUp {
			t.Errorf("from %+v: %+v", mem, got)
		}
	}
}

// TestMemoryOutlivesProcess saves, lets time pass and loads: the rest of the backoff is the same as without a restart.
func TestMemoryOutlivesProcess(t *testing.T) {
	cfg := policy.Config{Backoff: policy.Backoff{Base: 10 * time.Second}}
	saved, err := json.Marshal(crash(t, cfg, policy.Memory{}, 0))
	if err != nil {
		t.Fatal(err)
	}
	var mem policy.Memory
	if err := json.Unmarshal(saved, &mem); err != nil {
		t.Fatal(err)
	}
	m, err := policy.New(cfg, mem.Later(3*time.Second), 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	got := m.Step(5*time.Minute, policy.Input{Kind: policy.Begin})
	if len(got) != 2 || got[0].Delay != 7*time.Second || got[1].At != 5*time.Minute+7*time.Second {
		t.Errorf("got %v", got)
	}
	if later := m.Memory(); later != mem.Later(3*time.Second) {
		t.Errorf("loaded and saved again it is %+v, was %+v", later, mem.Later(3*time.Second))
	}
}

// TestLater checks that only ages grow, and that a round that was not good has none.
func TestLater(t *testing.T) {
	was := policy.Memory{Failures: 2, Age: 1, Previous: 2, Good: 3, WasGood: true, Seen: 4, GivenUp: true}
	want := was
	want.Age, want.Seen = 11, 14
	if got := was.Later(10); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (policy.Memory{}).Later(10); got != (policy.Memory{Age: 10}) {
		t.Errorf("got %+v", got)
	}
}

// TestIndependentOfOrigin checks that only differences of times matter, so that a script holds at every uptime.
func TestIndependentOfOrigin(t *testing.T) {
	for name, s := range searches() {
		cfg := s.cfg
		a, b := walk(t, cfg, 0, 7, 400), walk(t, cfg, 999*time.Hour, 7, 400)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: a walk that begins later goes another way", name)
		}
	}
}

// TestDeterminism checks that the same inputs give the same commands.
func TestDeterminism(t *testing.T) {
	for name, s := range searches() {
		for seed := range uint64(20) {
			a, b := walk(t, s.cfg, 0, seed, 300), walk(t, s.cfg, 0, seed, 300)
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: seed %d gives two answers", name, seed)
			}
		}
	}
}

// walk gives the commands of a random walk, with times relative to its origin.
func walk(t *testing.T, cfg policy.Config, origin time.Duration, seed uint64, steps int) [][]policy.Command {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	m, err := policy.New(cfg, policy.Memory{}, origin)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]policy.Command
	now := origin
	last := map[policy.Op]uint64{}
	for i := range steps {
		in := policy.Input{Kind: policy.Kind(r.IntN(int(policy.Reset) + 1)), Rand: r.Float64(), TreeDead: r.IntN(4) > 0}
		if i == 0 {
			in.Kind = policy.Begin
		}
		in.Verdict, in.Lock, in.Holder = policy.Verdict(r.IntN(4)), policy.Lock(r.IntN(4)), uint64(r.IntN(2))
		in.For = last[[]policy.Op{policy.Probe, policy.Start, policy.StopTree, policy.TakeEvidence}[r.IntN(4)]]
		now += time.Duration(r.IntN(1500)) * time.Millisecond
		out := m.Step(now, in)
		for j, c := range out {
			last[c.Op] = max(last[c.Op], c.ID)
			if c.Op == policy.Wake {
				out[j].At -= origin
			}
		}
		all = append(all, out)
	}
	return all
}
