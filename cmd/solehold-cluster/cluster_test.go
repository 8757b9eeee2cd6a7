package main_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The agent is started by a run and by nobody else: by hand it says so, and touches nothing. The rest is for people.
func TestByHand(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "solehold-cluster")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"solehold run --cluster":           {64, []string{"agent"}},
		"agent takes no arguments":         {64, []string{"agent", "more"}},
		"where does it listen":             {64, []string{"agent", "--cluster", "etcd://h:1/p"}},
		"which engines may runs name":      {64, []string{"agent", "--listen", "/nowhere/agent.sock"}},
		"no such file or directory":        {74, []string{"agent", "--listen", "/nowhere/agent.sock", "--cluster", "etcd://h:1/p"}},
		"break ":                           {0, nil},
		"there is no command \"fly\"":      {64, []string{"fly"}},
		"there is no engine":               {64, []string{"status", "--cluster", "paper://h:1/p", "kb"}},
		"does not know the parameter":      {64, []string{"status", "--cluster", "etcd://h:1/p?speed=1", "kb"}},
		"check that the engine answers":    {74, []string{"status", "--cluster", "etcd://127.0.0.1:1/p", "kb", "--timeout", "300ms"}},
		"zookeeper at [127.0.0.1:1]":       {74, []string{"break", "--cluster", "zookeeper://127.0.0.1:1/p", "kb", "--timeout", "300ms", "--token", "1", "--reason", "x"}},
		"SH100  outage   no server":        {1, []string{"doctor", "--cluster", "etcd://127.0.0.1:1/p", "--timeout", "2s"}},
		"SH100  outage   no server of":     {1, []string{"doctor", "--cluster", "redis://127.0.0.1:1/p", "--timeout", "2s"}},
		"no server of the engine can give": {1, []string{"doctor", "--cluster", "zookeeper://127.0.0.1:1/p", "--timeout", "2s"}},
		"no server of the engine":          {1, []string{"doctor", "--cluster", "postgres://u@127.0.0.1:1/p", "--timeout", "2s"}},
		"the tokens of this engine canno":  {78, []string{"raise", "--cluster", "zookeeper://127.0.0.1:1/p", "kb", "--above", "1"}},
	} {
		out, err := exec.Command(program, c.args...).CombinedOutput()
		code := 0
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != c.code || !strings.Contains(string(out), want) {
			t.Errorf("%q: code %d, want %d and %q: %s", c.args, code, c.code, want, out)
		}
	}
}
