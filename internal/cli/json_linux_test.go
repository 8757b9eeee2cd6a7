package cli_test

import (
	"os"
	"strings"
	"testing"
	"time"
)

// fields checks that an object has fields of these kinds.
func fields(t *testing.T, m map[string]any, want map[string]any) {
	t.Helper()
	for name, like := range want {
		got, ok := m[name]
		if !ok {
			t.Errorf("no field %q in %v", name, m)
			continue
		}
		switch like.(type) {
		case string:
			_, ok = got.(string)
		case float64:
			_, ok = got.(float64)
		case bool:
			_, ok = got.(bool)
		case []any:
			_, ok = got.([]any)
		case map[string]any:
			_, ok = got.(map[string]any)
		case time.Time:
			text, _ := got.(string)
			_, err := time.Parse(time.RFC3339, text)
			ok = err == nil && strings.HasSuffix(text, "Z")
		}
		if !ok {
			t.Errorf("field %q is %T(%v), want it like %T", name, got, got, like)
		}
	}
}

func equal(t *testing.T, m map[string]any, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if m[name] != value {
			t.Errorf("%s is %v, want %v", name, m[name], value)
		}
	}
}

// The fields of status are a promise to programs: they are only ever added to.
func TestStatusJSON(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir, "sleep", "300")
	r := ask("status", "--json", dir)
	if r.code != 0 || r.stderr != "" || strings.Count(r.stdout, "\n") != 1 {
		t.Fatalf("%+v", r)
	}
	s := object(t, r.stdout)
	fields(t, s, map[string]any{
		"dir": "", "state": "", "owner": map[string]any{}, "record": map[string]any{}, "token": 0.0, "filesystem": map[string]any{},
	})
	equal(t, s, map[string]any{"dir": dir, "state": "HELD", "token": 1.0})
	owner := s["owner"].(map[string]any)
	fields(t, owner, map[string]any{
		"pid": 0.0, "proven": true, "proof": []any{}, "since": time.Time{}, "exe": "", "command": []any{}, "uid": 0.0, "host": "", "started_by": "",
	})
	host, err := os.Hostname()
	must(t, err)
	equal(t, owner, map[string]any{"proven": true, "uid": float64(os.Getuid()), "host": host, "name": "kb"})
	record := s["record"].(map[string]any)
	fields(t, record, map[string]any{"class": "", "token": 0.0})
	equal(t, record, map[string]any{"class": "live", "token": 1.0, "name": "kb"})
	fields(t, s["filesystem"].(map[string]any), map[string]any{"type": "", "class": ""})
}

// Each directory is an object of its own, whatever there is to say of it.
func TestStatusJSONOfMany(t *testing.T) {
	t.Parallel()
	free, stale, missing := dataDir(t), dataDir(t), dataDir(t)+"/missing"
	abandon(t, stale)
	r := ask("status", "--json", free, stale, missing)
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	if r.code != 4 || len(lines) != 3 {
		t.Fatalf("%+v", r)
	}
	equal(t, object(t, lines[0]), map[string]any{"dir": free, "state": "FREE", "token": 0.0, "owner": nil})
	second := object(t, lines[1])
	equal(t, second, map[string]any{"dir": stale, "state": "FREE", "token": 1.0})
	equal(t, second["record"].(map[string]any), map[string]any{"class": "stale", "why": "no-such-process", "token": 1.0})
	third := object(t, lines[2])
	equal(t, third, map[string]any{"dir": missing, "state": "UNKNOWN"})
	fields(t, third, map[string]any{"error": ""})
}

// abandon leaves the record of an owner that died.
func abandon(t *testing.T, dir string) {
	t.Helper()
	if r := program(t, "solehold", "run", "--exec", dir, "--", "true"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestStatusJSONFindings(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	f, err := os.Create(dir + "/journal")
	must(t, err)
	defer f.Close()
	// This process is asking, and cannot be what is in the way.
	equal(t, object(t, ask("status", "--json", dir).stdout), map[string]any{"state": "FREE"})
	s := object(t, program(t, "solehold", "status", "--json", dir).stdout)
	equal(t, s, map[string]any{"state": "UNGUARDED"})
	fields(t, s, map[string]any{"findings": []any{}})
}

func TestHistoryJSON(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	for range 2 {
		if r := program(t, "solehold", "run", "--name", "kb", dir, "--", "true"); r.code != 0 {
			t.Fatalf("%+v", r)
		}
	}
	r := ask("history", "--json", dir)
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("%+v", r)
	}
	var kinds []string
	last := 0.0
	for line := range strings.Lines(r.stdout) {
		e := object(t, line)
		fields(t, e, map[string]any{"time": time.Time{}, "seq": 0.0, "kind": "", "token": 0.0, "pid": 0.0})
		if e["seq"].(float64) < last {
			t.Errorf("seq falls in %s", line)
		}
		last = e["seq"].(float64)
		kinds = append(kinds, e["kind"].(string))
	}
	const life = "acquired child-started child-exited released"
	if got := strings.Join(kinds, " "); got != life+" "+life {
		t.Errorf("kinds: %s", got)
	}
	first := object(t, strings.SplitN(r.stdout, "\n", 2)[0])
	fields(t, first, map[string]any{"detail": "", "name": "", "by": ""})
	equal(t, first, map[string]any{"token": 1.0, "name": "kb"})
	for args, want := range map[string]int{"-n 1": 1, "--kind released": 2, "--kind released,acquired": 4, "--since 1h": 8, "--since 0.000001": 0} {
		r := ask(append([]string{"history", "--json", dir}, strings.Fields(args)...)...)
		if got := strings.Count(r.stdout, "\n"); got != want || r.code != 0 {
			t.Errorf("%s: %d lines, code %d, want %d", args, got, r.code, want)
		}
	}
}

func TestRefusalJSON(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	hold(t, dir, "sleep", "300")
	r := program(t, "solehold", "run", "--json", "--held-exit", "75", dir, "--", "true")
	if r.code != 75 || r.stdout != "" {
		t.Fatalf("%+v", r)
	}
	m := object(t, r.stderr)
	equal(t, m, map[string]any{"held": dir, "exit": 75.0, "waited": nil})
	owner := m["owner"].(map[string]any)
	fields(t, owner, map[string]any{"pid": 0.0, "proven": true, "since": time.Time{}, "command": []any{}, "started_by": ""})

	r = program(t, "solehold", "run", "--json", "--wait", "100ms", "--held-exit", "75", dir, "--", "true")
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	if r.code != 75 || len(lines) != 2 {
		t.Fatalf("%+v", r)
	}
	fields(t, object(t, lines[0]), map[string]any{"note": ""})
	fields(t, object(t, lines[1]), map[string]any{"held": "", "waited": 0.1})
}

func TestErrorJSON(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"history", "--json", dataDir(t) + "/missing"}, {"run", "--json"}, {"--json", "no-such-command"}} {
		r := program(t, "solehold", args...)
		m := object(t, r.stderr)
		fields(t, m, map[string]any{"error": "", "exit": 0.0, "next": ""})
		equal(t, m, map[string]any{"exit": float64(r.code)})
		if r.code == 0 || r.stdout != "" || m["next"] == "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}
