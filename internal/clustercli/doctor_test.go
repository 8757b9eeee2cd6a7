package clustercli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/clustercli"
)

// patient is an engine in memory that says of itself what a test wants.
type patient struct {
	*cluster.MemoryClient
	health cluster.Health
	locks  []cluster.Seen
	lost   error
}

func (p *patient) Examine(context.Context) cluster.Health { return p.health }

func (p *patient) Look(context.Context, string) ([]cluster.Seen, error) { return p.locks, p.lost }

// examine runs doctor on it.
func (p *patient) examine(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	p.MemoryClient = cluster.NewMemory().Client(nil)
	var stdout, stderr bytes.Buffer
	env := clustercli.Env{Stdout: &stdout, Stderr: &stderr, Open: func(cluster.Target) (cluster.Backend, error) { return p, nil }}
	code = clustercli.Run(t.Context(), env, append([]string{"doctor"}, args...))
	if stderr.Len() > 0 {
		t.Errorf("%q: %s", args, &stderr)
	}
	return code, stdout.String()
}

// answered is the JSON of doctor.
type answered struct {
	Findings []struct {
		ID, Severity, Confidence, Title, Path, Advice string
		Evidence                                      []string
	}
	Gaps []struct{ What, Why string }
	Held int
	Free int
}

func server(change func(*cluster.Server)) []cluster.Server {
	s := cluster.Server{Address: "a:2379", Version: "3.6.5", Role: "leader", Used: 10 << 20, Limit: 2 << 30, Changes: 1, Up: 24 * time.Hour}
	change(&s)
	other := cluster.Server{Address: "b:2379", Version: "3.6.5", Role: "follower", Used: 10 << 20, Limit: 2 << 30, Changes: 1, Up: 24 * time.Hour}
	return []cluster.Server{s, other}
}

// Each finding is made by what it is about, and by nothing just below its limit.
func TestDoctorFindings(t *testing.T) {
	t.Parallel()
	same := func(*cluster.Server) {}
	both := func(change func(*cluster.Server)) []cluster.Server {
		all := server(change)
		change(&all[1])
		return all
	}
	for name, c := range map[string]struct {
		want, evidence string
		health         cluster.Health
		locks          []cluster.Seen
	}{
		"well":           {"", "", cluster.Health{Servers: server(same), Members: 2, Latency: 39 * time.Millisecond}, []cluster.Seen{{Name: "kb", Held: true}}},
		"all away":       {"SH100", "b:2379: no route", cluster.Health{Servers: both(func(s *cluster.Server) { s.Err = "no route" })}, nil},
		"no leader":      {"SH100", "a:2379: it knows of no leader", cluster.Health{Servers: both(func(s *cluster.Server) { s.Alone = true })}, nil},
		"one away":       {"SH101", "a:2379: no route", cluster.Health{Servers: server(func(s *cluster.Server) { s.Err = "no route" })}, nil},
		"one alone":      {"SH101", "no leader", cluster.Health{Servers: server(func(s *cluster.Server) { s.Alone = true })}, nil},
		"old":            {"SH102", "it ends leases", cluster.Health{Servers: server(func(s *cluster.Server) { s.Faults = "it ends leases" })}, nil},
		"blocked":        {"SH103", "NOSPACE", cluster.Health{Servers: server(same), Blocked: []string{"NOSPACE"}}, nil},
		"full":           {"SH104", "1.8 GiB of 2.0 GiB", cluster.Health{Servers: server(func(s *cluster.Server) { s.Used = 18 << 30 / 10 })}, nil},
		"not full":       {"", "", cluster.Health{Servers: server(func(s *cluster.Server) { s.Used = 15 << 30 / 10 })}, nil},
		"no limit":       {"", "", cluster.Health{Servers: server(func(s *cluster.Server) { s.Used, s.Limit = 1<<40, 0 })}, nil},
		"restless":       {"SH105", "3 changes of the leader in 2h0m0s", cluster.Health{Servers: server(func(s *cluster.Server) { s.Changes, s.Up = 3, 2*time.Hour })}, nil},
		"three a month":  {"", "", cluster.Health{Servers: server(func(s *cluster.Server) { s.Changes, s.Up = 3, 700*time.Hour })}, nil},
		"just started":   {"", "", cluster.Health{Servers: server(func(s *cluster.Server) { s.Changes, s.Up = 2, time.Minute })}, nil},
		"slow":           {"SH106", "took 41ms; with a ttl of 2s", cluster.Health{Servers: server(same), Latency: 41 * time.Millisecond}, nil},
		"clock ahead":    {"SH107", "1h0m0s ahead", cluster.Health{Servers: server(func(s *cluster.Server) { s.Skew = time.Hour })}, nil},
		"clock behind":   {"SH107", "1h0m0s behind", cluster.Health{Servers: server(func(s *cluster.Server) { s.Skew = -time.Hour })}, nil},
		"clock well":     {"", "", cluster.Health{Servers: server(func(s *cluster.Server) { s.Skew = -4 * time.Second })}, nil},
		"one of three":   {"SH108", "3 members", cluster.Health{Servers: server(same)[:1], Members: 3}, nil},
		"two of three":   {"", "", cluster.Health{Servers: server(same), Members: 3}, nil},
		"it forgets":     {"SH109", "fsync is off", cluster.Health{Servers: server(same), Forgets: []string{"fsync is off"}}, nil},
		"somebody else":  {"SH110", `p/claim/kb (lock "kb")`, cluster.Health{Servers: server(same)}, []cluster.Seen{{Name: "kb", Key: "p/claim/kb", Held: true, Foreign: true}}},
		"not seen":       {"SH111", `lock "kb", token 7, since 2026-01-02T03:04:05Z: last seen`, cluster.Health{Servers: server(same)}, []cluster.Seen{{Name: "kb", Held: true, Token: 7, Sticky: true, Since: "2026-01-02T03:04:05Z", SeenAt: "2026-01-02T03:04:05Z"}}},
		"seen":           {"", "", cluster.Health{Servers: server(same)}, []cluster.Seen{{Name: "kb", Held: true, Sticky: true, SeenAt: time.Now().UTC().Format(time.RFC3339)}}},
		"not at work":    {"", "", cluster.Health{Servers: server(same)}, []cluster.Seen{{Name: "kb", Held: true, Sticky: true, Idle: true, SeenAt: "2026-01-02T03:04:05Z"}}},
		"and many times": {"SH110", "and 5 more", cluster.Health{Servers: server(same)}, slices.Repeat([]cluster.Seen{{Name: "kb", Held: true, Foreign: true}}, 15)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &patient{health: c.health, locks: c.locks}
			code, out := p.examine(t, "--cluster", "memory://x/p?ttl=2s", "--json")
			var got answered
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if c.want == "" {
				if code != 0 || len(got.Findings)+len(got.Gaps) > 0 {
					t.Errorf("code %d: %s", code, out)
				}
				return
			}
			if code != 1 || len(got.Findings) != 1 {
				t.Fatalf("code %d: %s", code, out)
			}
			f := got.Findings[0]
			if f.ID != c.want || !strings.Contains(strings.Join(f.Evidence, "\n"), c.evidence) || f.Advice == "" || f.Title == "" || f.Path == "" || f.Confidence != "certain" {
				t.Errorf("%+v, want %s with %q", f, c.want, c.evidence)
			}
			if _, out := p.examine(t, "--cluster", "memory://x/p?ttl=2s"); !strings.Contains(out, "1 finding at memory://x/p") || !strings.Contains(out, c.want+"  ") ||
				!strings.Contains(out, "       next: ") || !strings.Contains(out, c.evidence) {
				t.Errorf("%s", out)
			}
		})
	}
}

// What could not be read is told, with an exit code of its own where nothing else was found; and a terminal obeys nothing.
func TestDoctorGaps(t *testing.T) {
	t.Parallel()
	p := &patient{health: cluster.Health{Servers: server(func(s *cluster.Server) { s.Version = "3\x1b[31m" }), Unread: []string{"its members: permission denied"}}}
	p.locks = []cluster.Seen{{Name: "a", Held: true}, {Name: "b", Held: true}, {Name: "c"}}
	code, out := p.examine(t, at)
	if code != 2 || !strings.Contains(out, "nothing found in what could be seen, 1 thing could not be read") ||
		!strings.Contains(out, "not read: its members: permission denied") || !strings.Contains(out, "2 locks held, 1 free") || strings.Contains(out, "\x1b") {
		t.Errorf("code %d: %q", code, out)
	}
	p.lost = fmt.Errorf("no quorum")
	if code, out = p.examine(t, at); code != 2 || !strings.Contains(out, "2 things could not be read") || !strings.Contains(out, "the claims: no quorum") {
		t.Errorf("code %d: %s", code, out)
	}
	p.health.Servers[0].Err = "away"
	if code, out = p.examine(t, at); code != 1 || !strings.Contains(out, "1 finding, 2 things could not be read") {
		t.Errorf("code %d: %s", code, out)
	}
}

// The worst comes first, whatever else there is.
func TestDoctorOrder(t *testing.T) {
	t.Parallel()
	p := &patient{health: cluster.Health{Servers: server(func(s *cluster.Server) { s.Skew, s.Faults = time.Hour, "old" }), Blocked: []string{"NOSPACE"}}}
	_, out := p.examine(t, at)
	var at []int
	for _, severity := range []string{"outage", "danger", "notice"} {
		at = append(at, strings.Index(out, "  "+severity))
	}
	if !slices.IsSorted(at) || at[0] < 0 || !strings.HasPrefix(out, "3 findings at ") {
		t.Errorf("%s", out)
	}
}

// An engine that says nothing of its health is a gap; what is not for doctor is refused.
func TestDoctorBadInput(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	d.claim(d.session(), "kb", "a")
	if code, out, errs := d.run("doctor", at); code != 2 || !strings.Contains(out, "does not tell it") || !strings.Contains(out, "1 locks held") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	for want, args := range map[string][]string{
		"takes no NAME": {at, "kb"},
		"which engine":  {},
		"unknown flag":  {at, "--pid", "1"},
		"ttl":           {"--cluster", "memory://x/p?ttl=soon"},
	} {
		if code, out, errs := d.run(append([]string{"doctor"}, args...)...); code != 64 || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%q: code %d: %s%s", args, code, out, errs)
		}
	}
	d.away = true
	if code, _, errs := d.run("doctor", at); code != 74 || !strings.Contains(errs, "next:") {
		t.Errorf("code %d: %s", code, errs)
	}
}
