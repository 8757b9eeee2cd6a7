package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wrongProbes are flags that cannot be, and a part of what is said of them.
func wrongProbes() map[string][]string {
	return map[string][]string{
		"ftp://127.0.0.1/":                 {"--health-http", "ftp://127.0.0.1/"},
		"no host":                          {"--health-http", "http:///healthz"},
		"user and password":                {"--health-http", "http://a:b@127.0.0.1/"},
		"not a URL":                        {"--health-http", "127.0.0.1:8080"},
		"must be a number from 1 to 65535": {"--health-tcp", "127.0.0.1:99999"},
		"no port":                          {"--health-tcp", "127.0.0.1"},
		"relative":                         {"--health-unix", "kb.sock"},
		"path is relative":                 {"--health-file", "alive"},
		"no such program":                  {"--health-exec", "no-such-program now"},
		"not executable":                   {"--health-exec", "/etc/passwd"},
		"without a scheme":                 {"--health-grpc", "http://127.0.0.1:1"},
		"one probe, not 2":                 {"--health-tcp", "127.0.0.1:1", "--health-file", "/x"},
		"settings need a probe":            {"--health-period", "5s"},
		"--startup-… settings need":        {"--startup-timeout", "5s"},
		"must be at least 1s":              {"--health-tcp", "127.0.0.1:1", "--health-period", "10ms"},
		"timeout 0s":                       {"--health-tcp", "127.0.0.1:1", "--health-timeout", "0"},
		"failure threshold 0":              {"--health-tcp", "127.0.0.1:1", "--health-failure-threshold", "0"},
		"status":                           {"--health-http", "http://127.0.0.1/", "--health-http-status", "fine"},
		"header":                           {"--health-http", "http://127.0.0.1/", "--health-http-header", "nothing"},
		"must not be negative":             {"--restart", "always", "--restart-max", "-1"},
		"is shorter than":                  {"--restart-delay", "10s", "--restart-delay-max", "1s"},
		"must be one of: no":               {"--restart", "sometimes"},
		"restart, report":                  {"--on-unhealthy", "panic"},
		"is not a signal":                  {"--unhealthy-signal", "LOUD"},
		"auto, pass, keep":                 {"--output", "elsewhere"},
		"need --reload FILE":               {"--reload-check", "true"},
		"not a time":                       {"--health-notify", "soon"},
	}
}

// What is wrong with a probe is said before anything is taken or started.
func TestWrongProbes(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	for want, flags := range wrongProbes() {
		r := ask(append(append([]string{"run"}, flags...), dir, "--", "touch", dir+"/started")...)
		if r.code != 64 || !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") > 2 {
			t.Errorf("%q: code %d, %q does not say %q", flags, r.code, r.stderr, want)
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) > 0 {
		t.Errorf("something was done: %v", entries)
	}
}

// A command line with nothing for a shell to do needs none, one with something gets
// it.
func TestProbeCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		want string
	}{
		"plain":        {"true", "ready"},
		"arguments":    {"test 1 = 1", "ready"},
		"a pipe":       {"echo yes | grep -q yes", "ready"},
		"a variable":   {`test "$SOLEHOLD_PROBE"`, "ready"},
		"an allowance": {"FOO=1 true", "ready"},
		"quotes":       {"test 'a b' = 'a b'", "ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			said := filepath.Join(t.TempDir(), "said")
			// The service ends itself when it is ready, or after some time.
			program(t, "solehold", "run", "--startup-exec", c.line, "--startup-period", "1s", dir, "--",
				"sh", "-c", `for i in $(seq 300); do grep -q '"ready"' "$SOLEHOLD_DIR/.solehold/history.jsonl" && exec touch "$1"; sleep 0.05; done`, "sh", said)
			h := ask("history", "--kind", "ready", dir)
			if _, err := os.Stat(said); err != nil || !strings.Contains(h.stdout, c.want) {
				t.Errorf("%q: %v, %s", c.line, err, ask("history", dir).stdout)
			}
		})
	}
}
