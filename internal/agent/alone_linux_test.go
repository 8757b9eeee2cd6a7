package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster/clustertest"
)

// Where a run had the lock of a cluster, none works without it unless somebody insists, once. Tokens rise over both.
func TestNoneWithoutTheCluster(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h := newHost(t, "x", etcd)
	a := h.start()
	one := a.works()
	a.signal(syscall.SIGTERM)
	a.ended()
	started := filepath.Join(h.base, "started")
	sh := []string{h.dir, "--", "sh", "-c", `echo $SOLEHOLD_TOKEN >"$0"`, started}
	refused := func(flags ...string) {
		t.Helper()
		code, text := exited(t, tool, append(append([]string{"run"}, flags...), sh...)...)
		if code != 78 || !strings.Contains(text, "--cluster URL") || !strings.Contains(text, "--without-cluster") {
			t.Errorf("%q: code %d: %s", flags, code, text)
		}
		if _, err := os.Stat(started); err == nil {
			t.Fatalf("%q: it was started", flags)
		}
	}
	refused()
	refused("--exec")
	if code, text := exited(t, tool, append([]string{"run", "--cluster", h.url(), "--cluster-name", "x", "--without-cluster"}, sh...)...); code != 64 {
		t.Errorf("both: code %d: %s", code, text)
	}
	if code, text := exited(t, tool, append([]string{"run", "--without-cluster"}, sh...)...); code != 0 {
		t.Fatalf("code %d: %s", code, text)
	}
	if b, err := os.ReadFile(started); err != nil || number(string(b)) <= one.Token {
		t.Errorf("token %q after %d, %v", b, one.Token, err)
	}
	if err := os.Remove(started); err != nil {
		t.Fatal(err)
	}
	refused() // it was for once
	_, history := exited(t, tool, "history", "--json", h.dir)
	if !strings.Contains(plain(t, history), "without the lock of the cluster") {
		t.Error("the history does not say it: ", history)
	}
	for i := range 50 {
		put(t, etcd, "/other", fmt.Sprint(i)) // an engine with more users than this lock
	}
	b := h.start()
	if two := b.works(); two.Token <= one.Token+1 {
		t.Errorf("token %d after %d and one without", two.Token, one.Token)
	}
	b.signal(syscall.SIGTERM)
	b.ended()
	if err := os.WriteFile(filepath.Join(h.dir, ".solehold", "cluster.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused() // what cannot be read was there all the same
}

// Who does not wait has an answer in time, whatever the time to live is: from an engine that is silent, and from an agent
// that is.
func TestSilence(t *testing.T) {
	t.Parallel()
	silent := clustertest.NewProxy(t, engine(t))
	silent.Cut()
	other := aloneTool(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(other), clusterProgram), []byte("#!/bin/sh\nexec sleep 40\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ tool, says string }{
		"engine": {tool, "the engine did not answer within"},
		"agent":  {other, clusterProgram + " did not answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, begin := t.TempDir(), time.Now()
			code, text := exited(t, c.tool, "run", "--cluster", "etcd://"+silent.Addr()+"/p?ttl=60s", "--cluster-name", "x", dir, "--", "touch", dir+"/started")
			took := time.Since(begin)
			t.Logf("answered after %v", took)
			if code != 74 || !strings.Contains(text, c.says) || took > 25*time.Second { // asked to the end it takes 36 s
				t.Errorf("code %d after %v: %s", code, took, text)
			}
		})
	}
}

// aloneTool is the lean binary in a directory of its own.
func aloneTool(t *testing.T) string {
	t.Helper()
	other := filepath.Join(t.TempDir(), "solehold")
	text, err := os.ReadFile(tool)
	if err == nil {
		err = os.WriteFile(other, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// Without the companion both who runs and who asks hear what is missing, and what to do.
func TestNoCompanion(t *testing.T) {
	t.Parallel()
	other, dir := aloneTool(t), t.TempDir()
	const url = "etcd://127.0.0.1:1/p"
	for _, line := range [][]string{
		{"run", "--cluster", url, "--cluster-name", "x", dir, "--", "touch", dir + "/started"},
		{"status", "--cluster", url, "x"},
		{"status", "x", "--cluster=" + url},
	} {
		if code, text := exited(t, other, line...); code != 73 || !strings.Contains(text, "install "+clusterProgram) {
			t.Errorf("%q: code %d: %s", line, code, text)
		}
	}
	if _, err := os.Stat(dir + "/started"); err == nil {
		t.Error("it was started")
	}
}

// Tokens that commands had before there was a cluster count: its own must be above them, or late writes would look new.
func TestTokensBeforeTheCluster(t *testing.T) {
	t.Parallel()
	h := newHost(t, "x", engine(t))
	const runs = 30 // more than the revisions of an engine that has just begun
	for range runs {
		if code, text := exited(t, tool, "run", h.dir, "--", "true"); code != 0 {
			t.Fatalf("code %d: %s", code, text)
		}
	}
	a := h.start()
	if code := a.ended(); code != 78 || a.started() || !strings.Contains(a.stderr.String(), fmt.Sprintf("after %d", runs)) {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
}
