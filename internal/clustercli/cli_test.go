package clustercli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/clustercli"
)

// desk is an operator at an engine in memory.
type desk struct {
	t      *testing.T
	engine *cluster.Memory
	away   bool
}

// run runs a command line.
func (d *desk) run(args ...string) (code int, out, errs string) {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	code = clustercli.Run(d.t.Context(), d.env(&stdout, &stderr), args)
	return code, stdout.String(), stderr.String()
}

func (d *desk) env(stdout, stderr interface{ Write([]byte) (int, error) }) clustercli.Env {
	return clustercli.Env{Stdout: stdout, Stderr: stderr, Open: func(cluster.Target) (cluster.Backend, error) {
		if d.away {
			return nil, errors.New("no route to host")
		}
		return d.engine.Client(nil), nil
	}}
}

// session makes a lease of a holder.
func (d *desk) session() cluster.Session {
	d.t.Helper()
	s, err := d.engine.Client(nil).Grant(d.t.Context(), time.Minute)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *desk) claim(s cluster.Session, name, info string) cluster.Claim {
	d.t.Helper()
	g, err := s.Claim(d.t.Context(), cluster.Request{Name: name, Nonce: "n of " + info, Info: info})
	if err != nil {
		d.t.Fatal(err)
	}
	return cluster.Claim{Name: name, Nonce: "n of " + info, Token: g.Token}
}

const at = "--cluster=memory://x/p"

func TestStatus(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	expect := func(code int, want string, args ...string) string {
		t.Helper()
		got, out, errs := d.run(append([]string{"status", at}, args...)...)
		if got != code || !strings.Contains(out, want) {
			t.Errorf("%q: code %d, want %d and %q: %s%s", args, got, code, want, out, errs)
		}
		return out
	}
	expect(3, "FREE      kb  nobody has had it yet", "kb")
	expect(0, "no locks at memory://x/p", "--all")
	s := d.session()
	c := d.claim(s, "kb", "kb on host a\x1b[31m")
	token := strconv.FormatUint(c.Token, 10)
	if out := expect(0, "HELD      kb  token "+token+"\n  owner   kb on host a", "kb"); strings.Contains(out, "\x1b") {
		t.Errorf("a terminal would obey it: %q", out)
	}
	d.claim(s, "other", "b")
	if out := expect(0, "HELD      kb ", "--all"); !strings.Contains(out, "HELD      other") {
		t.Error(out)
	}
	var seen struct {
		State, Name, Info string
		Token             uint64
		Held              bool
	}
	out := expect(0, "", "kb", "--json")
	if err := json.Unmarshal([]byte(out), &seen); err != nil || seen.State != "HELD" || seen.Name != "kb" || seen.Token != c.Token || !seen.Held {
		t.Errorf("%v: %s", err, out)
	}
	if err := s.Release(t.Context(), c, true); err != nil {
		t.Fatal(err)
	}
	expect(3, "FREE      kb  its last owner released it\n  last    kb on host a", "kb")
	d.claim(s, "kb", "c")
	if err := s.Revoke(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(3, "left without a release", "kb")
}

// A claim is broken by its token and for a reason, which is shown until there is a new owner.
func TestBreak(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	s := d.session()
	c := d.claim(s, "kb", "a")
	token := strconv.FormatUint(c.Token, 10)
	for want, args := range map[string][]string{
		"which lock":  {"--token", token, "--reason", "x"},
		"which claim": {"kb", "--reason", "x"},
		"why?":        {"kb", "--token", token},
	} {
		if code, _, errs := d.run(append([]string{"break", at}, args...)...); code != 64 || !strings.Contains(errs, want) {
			t.Errorf("%q: code %d: %s", args, code, errs)
		}
	}
	if code, _, errs := d.run("break", at, "kb", "--token", "99", "--reason", "x"); code != 66 || !strings.Contains(errs, "status") {
		t.Errorf("another token: code %d: %s", code, errs)
	}
	if code, out, errs := d.run("break", at, "kb", "--token", token, "--reason", "host a burnt"); code != 0 || !strings.Contains(out, token) {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	if lost := <-s.Gone(); lost != c {
		t.Errorf("the holder was told of %+v", lost)
	}
	if code, out, _ := d.run("status", at, "kb"); code != 3 || !strings.Contains(out, "broken by ") || !strings.Contains(out, ": host a burnt") {
		t.Errorf("code %d: %s", code, out)
	}
	d.claim(s, "kb", "b")
	if _, out, _ := d.run("status", at, "kb"); strings.Contains(out, "burnt") {
		t.Error("it is shown of the next owner: ", out)
	}
}

func TestRaise(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	s := d.session()
	c := d.claim(s, "kb", "a")
	if code, _, errs := d.run("raise", at, "kb", "--above", "1000"); code != 75 || !strings.Contains(errs, "stop its owner first") {
		t.Errorf("while it is held: code %d: %s", code, errs)
	}
	if err := s.Release(t.Context(), c, true); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := d.run("raise", at, "kb"); code != 64 {
		t.Errorf("without a number: code %d: %s", code, errs)
	}
	if code, out, errs := d.run("raise", at, "kb", "--above", "1000"); code != 0 || !strings.Contains(out, "above 1000") {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	if next := d.claim(s, "kb", "b"); next.Token != 1001 {
		t.Errorf("token %d", next.Token)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"no command":           {64, []string{"fly"}},
		"which engine":         {64, []string{"status", "kb"}},
		"Give one NAME":        {64, []string{"status", at}},
		"--all":                {64, []string{"status", at, "kb", "--all"}},
		"not a cluster URL":    {64, []string{"status", "--cluster", "nonsense", "kb"}},
		"password-file":        {64, []string{"status", "--cluster", "memory://u:p@x/p", "kb"}},
		"control characters":   {64, []string{"status", at, "a\nb"}},
		"unknown flag":         {64, []string{"status", at, "kb", "--fast"}},
		"watch takes one NAME": {64, []string{"watch", at, "a", "b"}},
		"at least 50ms":        {64, []string{"watch", at, "--every", "1ms"}},
	} {
		if code, out, errs := d.run(c.args...); code != c.code || !strings.Contains(errs, want) || out != "" {
			t.Errorf("%q: code %d, want %q: %s%s", c.args, code, want, out, errs)
		}
	}
	d.away = true
	if code, _, errs := d.run("status", at, "kb"); code != 74 || !strings.Contains(errs, "no route to host") || !strings.Contains(errs, "next:") {
		t.Errorf("an engine that is away: code %d: %s", code, errs)
	}
	if code, out, _ := d.run("--help"); code != 0 || !strings.Contains(out, "break") {
		t.Errorf("code %d: %s", code, out)
	}
}

// lines gives what is written, line by line.
type lines struct {
	mu  sync.Mutex
	all chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(p)) {
		l.all <- line
	}
	return len(p), nil
}

// A watch tells who has a lock at first, and each change from then on, once.
func TestWatch(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	s := d.session()
	c := d.claim(s, "kb", "host a")
	out := &lines{all: make(chan string, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		ended <- clustercli.Run(ctx, d.env(out, out), []string{"watch", at, "--every", "50ms"})
	}()
	hears := func(want string) {
		t.Helper()
		if line := <-out.all; !strings.Contains(line, want) {
			t.Errorf("%q, want %q", line, want)
		}
	}
	hears("HELD      kb  token " + strconv.FormatUint(c.Token, 10) + "; host a")
	if err := s.Release(t.Context(), c, true); err != nil {
		t.Fatal(err)
	}
	hears("FREE      kb  its last owner released it")
	d.claim(s, "kb", "host b")
	hears("host b")
	if err := s.Revoke(t.Context()); err != nil {
		t.Fatal(err)
	}
	hears("left without a release")
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("code %d", code)
	}
	if len(out.all) > 0 {
		t.Errorf("and then %q", <-out.all)
	}
}

// Who came and went between two looks is told of afterwards, once and in order: from the free lock, and from the held one.
func TestWatchTellsWhoWasMissed(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	s := d.session()
	engine := &moody{MemoryClient: d.engine.Client(nil)}
	out := &lines{all: make(chan string, 1000)}
	env := d.env(out, out)
	env.Open = func(cluster.Target) (cluster.Backend, error) { return engine, nil }
	pass := func(info string) uint64 {
		c := d.claim(s, "kb", info)
		if err := s.Release(t.Context(), c, true); err != nil {
			t.Fatal(err)
		}
		return c.Token
	}
	pass("long before")
	held := d.claim(s, "kb", "first")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- clustercli.Run(ctx, env, []string{"watch", at, "--every", "50ms"}) }()
	hears := func(want string) {
		t.Helper()
		if line := <-out.all; !strings.Contains(line, want) {
			t.Errorf("%q, want %q", line, want)
		}
	}
	away := func(while func()) {
		t.Helper()
		engine.away.Store(true)
		hears("trying on")
		while()
		engine.away.Store(false)
		hears("answers again")
	}
	hears("HELD      kb  token 2; first")
	var second, third uint64
	away(func() {
		if err := s.Release(t.Context(), held, true); err != nil {
			t.Fatal(err)
		}
		second, third = pass("second"), pass("third")
	})
	hears("ENDED     kb  token 2; released")
	hears(fmt.Sprintf("ENDED     kb  token %d; released", second))
	hears("FREE      kb  its last owner released it")
	away(func() {
		pass("fourth")
		d.claim(s, "kb", "fifth")
	})
	hears("fourth")
	hears(fmt.Sprintf("HELD      kb  token %d; fifth", third+2))
	cancel()
	if code := <-ended; code != 0 || len(out.all) > 0 {
		t.Errorf("code %d, and then %d lines", code, len(out.all))
	}
}

// That the holder of a sticky claim was seen again is no change of owner.
func TestWatchOfASticky(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	engine := &moody{MemoryClient: d.engine.Client(nil)}
	g, err := engine.Stick(t.Context(), cluster.Request{Name: "kb", Nonce: "n", Info: "host a", Place: "here"})
	if err != nil {
		t.Fatal(err)
	}
	out := &lines{all: make(chan string, 100)}
	env := d.env(out, out)
	env.Open = func(cluster.Target) (cluster.Backend, error) { return engine, nil }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- clustercli.Run(ctx, env, []string{"watch", at, "--every", "50ms"}) }()
	if line := <-out.all; !strings.Contains(line, "sticky") {
		t.Errorf("%q", line)
	}
	for i := range 3 {
		seen, err := engine.MemoryClient.Look(t.Context(), "kb")
		if err != nil {
			t.Fatal(err)
		}
		r := cluster.Record{Format: 1, Nonce: "n", Info: "host a", Sticky: true, Place: "here", Seen: fmt.Sprintf("2026-01-02T03:04:0%dZ", i)}
		if err := engine.Note(t.Context(), cluster.Claim{Name: "kb", Nonce: "n", Token: g.Token}, seen[0].Note, r.Text()); err != nil {
			t.Fatal(err)
		}
		for before := engine.looks.Load(); engine.looks.Load() < before+2; {
			runtime.Gosched()
		}
	}
	if err := engine.Break(t.Context(), "kb", g.Token, "by me"); err != nil {
		t.Fatal(err)
	}
	if line := <-out.all; !strings.Contains(line, "broken by me") {
		t.Errorf("%q", line)
	}
	cancel()
	if code := <-ended; code != 0 || len(out.all) > 0 {
		t.Errorf("code %d, and then %d lines", code, len(out.all))
	}
}

// moody is an engine that is away at times.
type moody struct {
	*cluster.MemoryClient
	away  atomic.Bool
	looks atomic.Int64
}

func (m *moody) Look(ctx context.Context, name string) ([]cluster.Seen, error) {
	m.looks.Add(1)
	if m.away.Load() {
		return nil, errors.New("no route\x1b to host")
	}
	return m.MemoryClient.Look(ctx, name)
}

// A watch goes on over an outage, and says once that there is one and once that it is over; it does not begin in one.
func TestWatchOverAnOutage(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	d.claim(d.session(), "kb", "a")
	engine := &moody{MemoryClient: d.engine.Client(nil)}
	out := &lines{all: make(chan string, 1000)}
	env := d.env(out, out)
	env.Open = func(cluster.Target) (cluster.Backend, error) { return engine, nil }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	watch := func() { ended <- clustercli.Run(ctx, env, []string{"watch", at, "--every", "50ms"}) }
	hears := func(want string) {
		t.Helper()
		if line := <-out.all; !strings.Contains(line, want) || strings.Contains(line, "\x1b") {
			t.Errorf("%q, want %q", line, want)
		}
	}
	engine.away.Store(true)
	go watch()
	if code := <-ended; code != 74 {
		t.Errorf("code %d of a watch that begins in an outage", code)
	}
	hears("solehold-cluster: no route? to host\n")
	hears("next:")
	engine.away.Store(false)
	go watch()
	hears("HELD      kb")
	for range 2 {
		engine.away.Store(true)
		hears("no route? to host: trying on")
		engine.away.Store(false)
		hears("answers again")
	}
	cancel()
	if code := <-ended; code != 0 || len(out.all) > 0 {
		t.Errorf("code %d, and then %d lines", code, len(out.all))
	}
}
