package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/testneed"
)

// One host runs, the other one hears who does, waits, and takes over at once after a clean end.
func TestHandOver(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	const lock = "a lock/with spaces & slashes"
	first, second := newHost(t, lock, etcd), newHost(t, lock, etcd)
	first.env = []string{cluster.PasswordVariable + "="} // empty: etcd has no users
	a := first.start("--name", "kb")
	one := a.works()
	self, _ := os.Hostname()
	refused := second.start("--held-exit", "75")
	if code := refused.ended(); code != 75 || !strings.Contains(refused.stderr.String(), "kb on host "+self) ||
		strings.Count(refused.stderr.String(), "\n") != 1 {
		t.Errorf("code %d: %s", code, refused.stderr.String())
	}
	if code := second.start().ended(); code != 0 {
		t.Errorf("code %d of a refused start", code)
	}
	sees(t, first, one)
	b := second.start("--wait", "forever")
	testneed.Until(t, "it does not wait", func() bool { return strings.Contains(b.stderr.String(), "waiting") })
	a.signal(syscall.SIGTERM)
	two := b.works()
	if code := a.ended(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	if gap := two.Owned - a.acted(); gap < 0 || gap >= patience/4 || two.Token <= one.Token {
		t.Errorf("taken over after %v, token %d after %d", gap, two.Token, one.Token)
	} else {
		t.Logf("taken over after %v", gap)
	}
	b.signal(syscall.SIGTERM)
	b.ended()
}

// sees looks at what others are shown of a run, and that no secret is among it.
func sees(t *testing.T, h *host, b begun) {
	t.Helper()
	_, text := exited(t, tool, "status", "--json", h.dir)
	var s struct {
		Record struct {
			Cluster struct {
				Engine, Key string
				Token       uint64
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err, text)
	}
	if c := s.Record.Cluster; c.Engine != "etcd" || c.Key != claimKey(h.name) || c.Token != b.Token || b.Token == 0 {
		t.Errorf("%+v; the command has token %d", c, b.Token)
	}
	_, history := exited(t, tool, "history", "--json", h.dir)
	if want := fmt.Sprintf("lock of the cluster: etcd %s, token %d", claimKey(h.name), b.Token); !strings.Contains(plain(t, history), want) {
		t.Errorf("not in the history: %s\n%s", want, history)
	}
}

// plain gives the details of a history.
func plain(t *testing.T, lines string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(lines) {
		var e struct{ Detail string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Detail)
	}
	return strings.Join(all, "\n")
}

// What is wrong is said before anything is started, the directory is given back, and no secret is shown.
func TestRefusals(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	const secret = "hunter2"
	put(t, etcd, claimKey("foreign"), "of another program")
	for name, c := range map[string]struct {
		url, lock string
		code      int
		says      string
		args      []string
	}{
		"no URL":             {"nonsense", "x", 64, "not a cluster URL", nil},
		"unknown engine":     {"paper://h:1/p", "x", 64, "there is no engine", nil},
		"unknown parameter":  {"etcd://" + etcd + "/p?speed=1", "x", 64, "speed", nil},
		"password in it":     {"etcd://u:" + secret + "@" + etcd + "/p", "x", 64, "password-file", nil},
		"password parameter": {"etcd://" + etcd + "/p?password=" + secret, "x", 64, "password-file", nil},
		"no password file":   {"etcd://u@" + etcd + "/p?password-file=/nowhere", "x", 64, "password-file", nil},
		"no certificate":     {"etcd://" + etcd + "/p?ca=/nowhere", "x", 64, "/nowhere", nil},
		"grace of 2s":        {"etcd://" + etcd + "/p?ttl=3s", "x", 64, "that makes 3.8s", []string{"--grace", "2s"}},
		"ttl too short":      {"etcd://" + etcd + "/p?ttl=1s", "x", 64, "not between", nil},
		"bad name":           {"etcd://" + etcd + "/p", "a\nb", 64, "control characters", nil},
		"no name":            {"etcd://" + etcd + "/p", "", 64, "--cluster-name", nil},
		"hold none":          {"etcd://" + etcd + "/p", "x", 64, "--hold=tree", []string{"--hold", "none"}},
		"exec":               {"etcd://" + etcd + "/p", "x", 64, "--exec", []string{"--exec"}},
		"nobody there":       {"etcd://127.0.0.1:1/p?ttl=2s", "x", 74, "nothing was started", nil},
		"a foreign key":      {"etcd://" + etcd + "/test/dir", "foreign", 78, "did not write", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			line := append([]string{"run", "--cluster", c.url}, c.args...)
			if c.lock != "" {
				line = append(line, "--cluster-name", c.lock)
			}
			code, text := exited(t, tool, append(line, dir, "--", "touch", filepath.Join(dir, "started"))...)
			if code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, secret) {
				t.Errorf("code %d: %s", code, text)
			}
			if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
				t.Error("it was started")
			}
			if code, text := exited(t, tool, "status", dir); code == 0 {
				t.Errorf("the directory was not given back: %s", text)
			}
		})
	}
}

// An engine whose token is not above the last one here has lost its data, or is another one.
func TestOldTokenIsRefused(t *testing.T) {
	t.Parallel()
	old := engine(t)
	for i := range 50 {
		put(t, old, "/other", fmt.Sprint(i)) // an engine that has lived for a while
	}
	h := newHost(t, "x", old)
	a := h.start()
	one := a.works()
	a.signal(syscall.SIGTERM)
	a.ended()
	page := filepath.Join(h.dir, ".solehold", "cluster.json")
	h.proxy = newHost(t, "x", engine(t)).proxy // its revisions begin anew
	for range 3 {
		b := h.start()
		if code := b.ended(); code != 78 || !strings.Contains(b.stderr.String(), "another engine") {
			t.Fatalf("code %d: %s", code, b.stderr.String())
		}
		if b.started() {
			t.Error("it was started")
		}
	}
	raise(t, h)
	named(t, filepath.Dir(page))
	c := h.start()
	if three := c.works(); three.Token <= one.Token {
		t.Errorf("token %d after %d", three.Token, one.Token)
	}
	c.signal(syscall.SIGTERM)
	c.ended()
	if err := os.WriteFile(page, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b := h.start(); b.ended() != 78 || !strings.Contains(b.stderr.String(), "cluster.json") {
		t.Error(b.stderr.String())
	}
}

// named fails for a file of ours that the protocol does not have.
func named(t *testing.T, state string) {
	t.Helper()
	protocol, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(state)
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if !strings.Contains(string(protocol), "- **`"+f.Name()+"`**") {
			t.Errorf("docs/protocol.md does not have %s", f.Name())
		}
	}
}

// raise does what the refusal says, with the number that it names.
func raise(t *testing.T, h *host) {
	t.Helper()
	b := h.start()
	b.ended()
	said := regexp.MustCompile(`token \d+ after (\d+)`).FindStringSubmatch(b.stderr.String())
	if said == nil || !strings.Contains(b.stderr.String(), "solehold cluster raise --cluster URL NAME --above N") {
		t.Fatal(b.stderr.String())
	}
	code, text := exited(t, tool, "cluster", "raise", "--cluster", h.url(), "--timeout", patience.String(), h.name, "--above", said[1])
	if code != 0 {
		t.Fatalf("code %d: %s", code, text)
	}
}

func (r *run) started() bool { _, ok := r.begun(); return ok }

// The password is for the agent: neither the command nor its probe has it, and nothing that others can read.
func TestSecretStaysWithTheAgent(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	h := newHost(t, "x", engine(t))
	h.env = []string{cluster.PasswordVariable + "=" + secret}
	probed := filepath.Join(h.base, "probed")
	a := h.start("--health-exec", fmt.Sprintf("env >%[1]s.new && mv %[1]s.new %[1]s", probed))
	b := a.works()
	for _, v := range b.Env {
		if strings.Contains(v, secret) {
			t.Error("the command has it: ", v)
		}
	}
	testneed.Until(t, "there is no probe", func() bool { _, err := os.Stat(probed); return err == nil })
	if text, err := os.ReadFile(probed); err != nil || !strings.Contains(string(text), "PATH=") || strings.Contains(string(text), secret) {
		t.Errorf("the probe has it, or nothing: %v: %s", err, text)
	}
	for _, pid := range []int{a.agent(), a.cmd.Process.Pid, b.PID} {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || strings.Contains(string(line), secret) {
			t.Error("it can be seen in ps: ", err, string(line))
		}
	}
	a.signal(syscall.SIGTERM)
	a.ended()
	files, _ := filepath.Glob(h.dir + "/.solehold/*")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), secret) {
			t.Error("it is in", f)
		}
	}
}
