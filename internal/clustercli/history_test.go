package clustercli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

// born is a claim that was made at a time.
func (d *desk) born(s cluster.Session, info string, at time.Time) cluster.Claim {
	d.t.Helper()
	g, err := s.Claim(d.t.Context(), cluster.Request{Name: "kb", Nonce: "n of " + info, Info: info, Since: cluster.Moment(at)})
	if err != nil {
		d.t.Fatal(err)
	}
	return cluster.Claim{Name: "kb", Nonce: "n of " + info, Token: g.Token}
}

// The lives of all hosts are in the order of their tokens, each with its end; the present one is among them.
func TestHistory(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory()}
	if code, out, _ := d.run("history", at, "kb"); code != 0 || !strings.Contains(out, "nobody has had kb") {
		t.Errorf("code %d: %s", code, out)
	}
	now := time.Now()
	a, b := d.session(), d.session()
	one := d.born(a, "host a\x1b[31m", now)
	if err := a.Release(t.Context(), one, true); err != nil {
		t.Fatal(err)
	}
	two := d.born(a, "host a again", now.Add(time.Second))
	if err := a.Revoke(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := d.run("history", at, "kb"); code != 0 || !strings.Contains(errs, "host a again, has left without a release") {
		t.Errorf("code %d: %s", code, errs)
	}
	three := d.born(b, "host b", now.Add(2*time.Second))
	if code, out, errs := d.run("break", at, "kb", "--token", fmt.Sprint(three.Token), "--reason", "burnt"); code != 0 {
		t.Fatal(code, out, errs)
	}
	four := d.born(b, "host c, whose clock is late", now.Add(-time.Hour))
	code, out, errs := d.run("history", at, "kb")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 5 || strings.Contains(out, "\x1b") {
		t.Fatalf("code %d: %q", code, out)
	}
	for i, want := range []string{
		"TOKEN", fmt.Sprint(one.Token, "  "), fmt.Sprint(two.Token, "  "), fmt.Sprint(three.Token, "  "), fmt.Sprint(four.Token, "  "),
	} {
		if !strings.HasPrefix(strings.TrimSpace(lines[i]), want) {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	for _, want := range []string{"released", fmt.Sprint("expired, found by ", three.Token), "broken by ", ": burnt", "holds", "host c"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if strings.Count(errs, "\n") != 1 || !strings.Contains(errs, fmt.Sprintf("token %d began 1h0m", four.Token)) {
		t.Errorf("disagreements: %q", errs)
	}
	_, out, _ = d.run("history", at, "kb", "--json")
	var ends []string
	for line := range strings.Lines(out) {
		var l cluster.Life
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err, line)
		}
		ends = append(ends, l.End)
	}
	if got := strings.Join(ends, " "); got != "released expired broken " {
		t.Errorf("%q", got)
	}
}

func TestHistoryBadInput(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, engine: cluster.NewMemory(), away: true}
	for want, args := range map[string][]string{
		"which lock?":      {"history", at},
		"which engine?":    {"history", "kb"},
		"an empty text":    {"history", at, ""},
		"no route to host": {"history", at, "kb"},
	} {
		code, _, errs := d.run(args...)
		if (code != 64) != (want == "no route to host") || !strings.Contains(errs, want) {
			t.Errorf("%q: code %d: %s", args, code, errs)
		}
	}
}
