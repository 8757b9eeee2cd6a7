package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// bin has solehold, its companions solehold-drill and solehold-cluster, kb, and kb without its three lines.
var bin string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "drill-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		bin = dir
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(dir string) error {
	overlay, err := withoutGuard(dir)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"-o", dir, "../solehold", "../solehold-cluster", ".", "../../examples/kb"},
		{"-overlay", overlay, "-o", filepath.Join(dir, "kb-unguarded"), "../../examples/kb"},
	} {
		out, err := exec.Command("go", append([]string{"build", "-buildvcs=false"}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("go build %v: %v\n%s", args, err, out)
		}
	}
	return nil
}

// withoutGuard takes the three lines out of kb, and what the rest of it gets from them.
func withoutGuard(dir string) (overlay string, err error) {
	cuts := map[string][]string{
		"main.go": {
			"\tlock := solehold.OnlyOrExit(s.data)\n\tdefer lock.Release()\n\treturn serve(lock, s)\n", "\treturn serve(s)\n",
		},
		"serve.go": {
			"func serve(lock *solehold.Lock, ", "func serve(", "func answerRequests(lock *solehold.Lock, ", "func answerRequests(",
			"func announce(lock *solehold.Lock, ", "func announce(", "answerRequests(lock, ", "answerRequests(", "announce(lock, ", "announce(",
			"lock.Context()", "context.Background()", `filepath.Join(lock.Dir(), "kb.db")`, `filepath.Join(s.data, "kb.db")`, "lock.Token()", "uint64(1)",
			"<-lock.ReleaseRequested()", "<-make(chan struct{})", `"asked to let go of "+lock.Dir()`, `"asked"`, "lock.Ready()", "error(nil)",
			`, "data", lock.Dir()`, "", "\n\t\"github.com/solehold/solehold\"\n", "",
		},
	}
	replaced := map[string]string{}
	for name, pairs := range cuts {
		source, err := filepath.Abs(filepath.Join("../../examples/kb", name))
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		cut := strings.NewReplacer(pairs...).Replace(string(text))
		if strings.Contains(cut, "lock.") {
			return "", fmt.Errorf("%s uses its lock in a way that is not known here", name)
		}
		replaced[source] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(cut), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// scaled is a part of a count: a tenth in CI, all with SOLEHOLD_SOAK=100.
func scaled(all int) string {
	percent, err := strconv.Atoi(os.Getenv("SOLEHOLD_SOAK"))
	if err != nil {
		percent = 10
	}
	return strconv.Itoa(max(2, all*percent/100))
}

// whole reports whether everything is to be run, and not a part that has the rest in it.
func whole() bool { return os.Getenv("SOLEHOLD_SOAK") == "100" }

// drilled runs solehold drill as a user does, and gives its code and reports.
func drilled(t *testing.T, args ...string) (int, []drill.Report) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(filepath.Join(bin, "solehold"), append([]string{"drill", "--json", "--limit", "2m"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var reports []drill.Report
	if jsonErr := json.Unmarshal(out.Bytes(), &reports); jsonErr != nil {
		t.Fatalf("%v: %v, %v: %s%s", args, err, jsonErr, out.String(), errs.String())
	}
	for _, r := range reports {
		t.Logf("%s: %s, %d owners, %d rounds, refused %+v, next %+v, %.0fs, seed %d %q", r.Scenario, r.Verdict, r.Owners, len(r.Rounds), r.Refused, r.Next, r.Took, r.Seed, r.Reasons)
	}
	return cmd.ProcessState.ExitCode(), reports
}

func kb(name string) []string {
	return []string{"--", filepath.Join(bin, name), "-data", "{dir}", "-addr", "127.0.0.1:0"}
}

// TestRaceOfGuardedKB releases many starters of a service that has the three lines: one serves, the others leave with 0.
func TestRaceOfGuardedKB(t *testing.T) {
	code, reports := drilled(t, append([]string{"race", "-n", scaled(32), "--rounds", scaled(50)}, kb("kb")...)...)
	r := reports[0]
	if code != 0 || r.Verdict != drill.Pass || r.Owners != 1 {
		t.Fatalf("exit %d, %s, %d owners: %q", code, r.Verdict, r.Owners, r.Reasons)
	}
	turnedAway := (r.Starters - 1) * len(r.Rounds)
	if r.Refused.Count != turnedAway || r.Refused.Ends["exit 0"] != turnedAway || r.Next.Count != len(r.Rounds)-1 {
		t.Errorf("refused %+v of %d, next %+v", r.Refused, turnedAway, r.Next)
	}
}

// TestRaceOfUnguardedKB has the same service without them: more than one owner is found, with both pids and the round.
func TestRaceOfUnguardedKB(t *testing.T) {
	code, reports := drilled(t, append([]string{"race", "-n", scaled(32), "--rounds", scaled(20)}, kb("kb-unguarded")...)...)
	r := reports[0]
	if code != 1 || r.Verdict != drill.Failed || r.Owners < 2 || !strings.HasPrefix(r.Reasons[0], "round 1: ") {
		t.Fatalf("exit %d, %s, %d owners: %q", code, r.Verdict, r.Owners, r.Reasons)
	}
	for _, round := range r.Rounds {
		if round.Clash == nil {
			t.Errorf("round %d: %d owners", round.Number, round.Owners)
			continue
		}
		for _, o := range round.Clash.Owners {
			if o.PID <= 0 || !strings.Contains(r.Reasons[round.Number-1], fmt.Sprintf("pid %d ", o.PID)) && len(round.Clash.Owners) <= 4 {
				t.Errorf("round %d: pid %d is not named: %q", round.Number, o.PID, r.Reasons)
			}
		}
	}
}

// TestAllOfGuardedKB runs every scenario.
func TestAllOfGuardedKB(t *testing.T) {
	testneed.Root(t)
	testneed.Program(t, "ip", "apt-get install iproute2")
	code, reports := drilled(t, append([]string{"all", "--rounds", scaled(20)}, kb("kb")...)...)
	names, _ := drill.Scenarios()
	if code != 0 || len(reports) != len(names) {
		t.Fatalf("exit %d, %d of %d scenarios", code, len(reports), len(names))
	}
	for _, r := range reports {
		if r.Verdict != drill.Pass || r.Owners != 1 {
			t.Errorf("%s: %s %q", r.Scenario, r.Verdict, r.Reasons)
		}
		if r.Scenario == "partition" && (r.Cut.Count != len(r.Rounds) || r.Cut.Slowest < 3) {
			t.Errorf("after the cut of a link on which a lease of 5 s is renewed each second: %+v", r.Cut)
		}
	}
}

// TestHealthOfKB asks the service on a port that every start wants: the guard speaks before the port does.
func TestHealthOfKB(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	code, reports := drilled(t, "race", "-n", "4", "--rounds", "2", "--health-http", "http://"+addr+"/healthz",
		"--", filepath.Join(bin, "kb"), "-data", "{dir}", "-addr", addr)
	if r := reports[0]; code != 0 || r.Healthy.Count != 2 {
		t.Errorf("exit %d, healthy %+v: %q", code, r.Healthy, r.Reasons)
	}
}

// TestRun has solehold run before a service that knows nothing, and run in one entrance and watch in the other.
func TestRun(t *testing.T) {
	redis := testneed.Program(t, "redis-server", "apt-get install redis-server")
	solehold := filepath.Join(bin, "solehold")
	service := []string{redis, "--dir", "{dir}", "--port", "0", "--unixsocket", "{dir}/s{n}", "--appendonly", "yes"}
	guarded := append([]string{"--", solehold, "run", "--grace", "2s", "{dir}", "--"}, service...)
	scenarios := []string{"race", "orphan", "slow-stop"}
	if whole() {
		scenarios = append(scenarios, "crash", "hang", "leak")
	}
	for _, scenario := range scenarios {
		if code, reports := drilled(t, append([]string{scenario, "--rounds", scaled(20)}, guarded...)...); code != 0 {
			t.Errorf("%s: exit %d: %q", scenario, code, reports[0].Reasons)
		}
	}
	waits := append([]string{"race", "-n", "4", "--rounds", "2", "--also", solehold + " run --wait 60s {dir} -- " + strings.Join(service, " ")}, guarded...)
	if code, reports := drilled(t, waits...); code != 0 {
		t.Errorf("with one that waits: exit %d: %q", code, reports[0].Reasons)
	}
}

// TestRedis drills a real redis-server, which guards its port and nothing else.
func TestRedis(t *testing.T) {
	redis := testneed.Program(t, "redis-server", "apt-get install redis-server")
	alone := []string{"--", redis, "--dir", "{dir}", "--port", "0", "--unixsocket", "{dir}/s{n}", "--appendonly", "yes"}
	scenarios := []string{"race", "hang"}
	if whole() {
		scenarios = append(scenarios, "slow-stop", "crash", "leak")
	}
	for _, scenario := range scenarios {
		code, reports := drilled(t, append([]string{scenario, "-n", "3", "--rounds", "1"}, alone...)...)
		if code != 1 || reports[0].Owners < 2 {
			t.Errorf("%s: exit %d, %d owners", scenario, code, reports[0].Owners)
		}
	}
}

// TestVerbs finds both verbs of this program from solehold.
func TestVerbs(t *testing.T) {
	out, err := exec.Command(filepath.Join(bin, "solehold"), "drill", "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "solehold drill SCENARIO") {
		t.Errorf("%v: %s", err, out)
	}
}
