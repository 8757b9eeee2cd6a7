//go:build linux

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
)

// jam is what the test build has on top: two goroutines that take two locks in both orders.
const jam = `package main

import (
	"os"
	"sync"
)

var first, second sync.Mutex

// jam stops the service once for each time that the file is made.
func jam(file string) {
	if os.Remove(file) != nil {
		first.Lock() // what the jam holds for ever
		first.Unlock()
		return
	}
	var both sync.WaitGroup
	both.Add(2)
	take := func(a, b *sync.Mutex) {
		a.Lock()
		both.Done()
		both.Wait()
		b.Lock()
	}
	go take(&first, &second)
	go take(&second, &first)
	both.Wait()
	first.Lock()
}
`

// buildJammed builds solehold, and kb with the jam in its answer to health checks.
func buildJammed(t *testing.T, bin string) {
	t.Helper()
	api, err := os.ReadFile("api.go")
	must(t, err)
	const health = "func (a api) health(w http.ResponseWriter, r *http.Request) error {\n"
	jammed := strings.Replace(string(api), health, health+"\tjam(os.Getenv(\"KB_JAM\"))\n", 1)
	jammed = strings.Replace(jammed, "import (\n", "import (\n\t\"os\"\n", 1)
	if !strings.Contains(jammed, "\tjam(") {
		t.Fatal("api.go has no health check of this shape any more")
	}
	here, err := os.Getwd()
	must(t, err)
	overlay := map[string]string{}
	for name, text := range map[string]string{"api.go": jammed, "jam.go": jam} {
		overlay[filepath.Join(here, name)] = filepath.Join(bin, name)
		must(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o600))
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(bin, "overlay"), text, 0o600))
	build := exec.Command("go", "build", "-buildvcs=false", "-overlay", filepath.Join(bin, "overlay"), "-o", bin, ".", "../../cmd/solehold")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeadlock runs a build of kb that can jam itself: it is found, its incident names the place, it is restarted once.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	bin, dir := t.TempDir(), t.TempDir()
	buildJammed(t, bin)
	addr := fmt.Sprintf("127.0.0.1:%d", testneed.Port(t))
	run := exec.Command(filepath.Join(bin, "solehold"), "run", "--health-http", "http://"+addr+"/healthz",
		"--health-period", "1s", "--health-failure-threshold", "2", "--min-failing", "0s", "--restart-delay", "0s", "--grace", "2s",
		"--unhealthy-signal", "QUIT", dir, "--", filepath.Join(bin, "kb"), "-addr", addr)
	run.Env = append(os.Environ(), "KB_JAM="+filepath.Join(bin, "now"))
	s, err := launch(t, run)
	must(t, err)
	if s.url == "" {
		t.Fatalf("ended: %v\n%s", run.ProcessState, s.log())
	}
	follow := follows(t, filepath.Join(bin, "solehold"), dir)
	follow("ready", 1)
	began := time.Now()
	must(t, os.WriteFile(filepath.Join(bin, "now"), nil, 0o600))
	follow("forced", 1)
	t.Logf("found and ended %v after it began", time.Since(began).Round(time.Millisecond))
	follow("ready", 2)
	all := follow("incident", 2) // the second with what it printed when it was ended
	if code := s.stop(t, syscall.SIGTERM); code != -1 && code != 0 {
		t.Errorf("ended with %d: %s", code, s.log())
	}
	living, restarts := 0, 0
	for _, e := range all {
		switch {
		case e.Kind == "child-started" && living != 0:
			t.Errorf("pid %d was started beside pid %d", e.PID, living)
		case e.Kind == "child-started":
			living = e.PID
		case e.Kind == "child-exited":
			living = 0
		case e.Kind == "restart":
			restarts++
		}
	}
	if restarts != 1 {
		t.Errorf("%d restarts: %+v", restarts, all)
	}
	stacks, err := filepath.Glob(filepath.Join(dir, ".solehold", "incidents", "*", "last-output.txt"))
	must(t, err)
	found := ""
	for _, file := range stacks {
		text, err := os.ReadFile(file)
		must(t, err)
		found += string(text)
	}
	if !strings.Contains(found, "main.jam.func1") {
		t.Errorf("no incident has the stacks of both goroutines: %q\n%s", stacks, s.log())
	}
}

// follows waits for events of a directory, and gives all that came so far.
func follows(t *testing.T, program, dir string) func(kind string, n int) []event {
	return func(kind string, n int) []event {
		t.Helper()
		look := time.NewTicker(50 * time.Millisecond)
		defer look.Stop()
		var all []event
		for end := time.Now().Add(2 * patience); count(all, kind) < n; <-look.C {
			if time.Now().After(end) {
				t.Fatalf("never %d %s: %+v", n, kind, all)
			}
			text, err := exec.Command(program, "history", "--json", dir).Output()
			must(t, err)
			all = nil
			for line := range bytes.Lines(text) {
				var e event
				must(t, json.Unmarshal(line, &e))
				all = append(all, e)
			}
		}
		return all
	}
}

type event = solehold.Event

func count(all []event, kind string) (n int) {
	for _, e := range all {
		if string(e.Kind) == kind {
			n++
		}
	}
	return n
}
