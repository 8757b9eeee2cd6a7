package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/remote"
	"github.com/solehold/solehold/internal/web"
)

// actVar makes this test binary an actor: it does the steps, prints a line and stays
// until its input ends.
const actVar = "SOLEHOLD_TEST_ACT"

// patience bounds every wait for something that has to happen.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "status" {
		engineSays(os.Args[3])
		return
	}
	steps, ok := os.LookupEnv(actVar)
	if !ok {
		os.Exit(m.Run())
	}
	for step := range strings.SplitSeq(steps, "\x1f") {
		verb, arg, _ := strings.Cut(step, " ")
		if err := act(verb, arg); err != nil {
			fmt.Println(step, err)
			os.Exit(1)
		}
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

// engineSays is what solehold-cluster says of an engine: this binary stands in for it.
func engineSays(address string) {
	switch {
	case strings.HasPrefix(address, "etcd://hostile:"):
		fmt.Println(`{"state":"HELD","name":"<script>alert(1)</script>\u202e","key":"/kb/claim/x","token":3,"info":"x on host srv3, pid 7, /srv/x","left":11}`)
		return
	case !strings.HasPrefix(address, "etcd://e1:"):
		<-time.After(time.Hour)
	}
	fmt.Println(`{"state":"HELD","name":"kb","key":"/kb/claim/kb","token":4711,"info":"kb --addr :8080 on host srv2, pid 3120, /srv/kb/data","left":11}`)
	fmt.Println(`{"state":"FREE","name":"nightly","key":"/kb/claim/nightly","info":"backup on host srv1, pid 988, /srv/backup","ended":true}`)
}

// clusters asks engines, for which this binary speaks.
func clusters(t testing.TB, urls ...string) *remote.Watcher {
	t.Helper()
	w, err := remote.New(os.Args[0], urls, patience)
	must(t, err)
	return w
}

func act(verb, arg string) error {
	switch verb {
	case "hold":
		_, err := solehold.Acquire(context.Background(), arg, &solehold.Options{NoSync: true, Name: "kb"})
		return err
	case "write":
		_, err := os.OpenFile(arg, os.O_RDWR|os.O_CREATE, 0o644)
		return err
	}
	return errors.New("no such step")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start is a process with a command line of its own that has done some steps; end
// lets it go.
func start(t testing.TB, words []string, steps ...string) (cmd *exec.Cmd, end func()) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	if len(words) > 0 {
		cmd.Args = words
	}
	cmd.Env = append(os.Environ(), actVar+"="+strings.Join(steps, "\x1f"))
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	end = func() { in.Close(); cmd.Wait() }
	t.Cleanup(end)
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%v: %s", steps, line)
	}
	return cmd, end
}

// dataDir makes an empty data directory.
func dataDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// history writes events into the history of a directory.
func history(t testing.TB, dir string, events ...journal.Event) {
	t.Helper()
	state := filepath.Join(dir, ".solehold")
	must(t, os.MkdirAll(state, 0o700))
	f, err := os.OpenFile(filepath.Join(state, journal.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	defer f.Close()
	for _, e := range events {
		line, err := journal.Encode(e)
		must(t, err)
		_, err = f.Write(line)
		must(t, err)
	}
}

// evidence lays an incident into a directory.
func evidence(t testing.TB, dir, id, finding string) {
	t.Helper()
	folder := filepath.Join(dir, ".solehold", "incidents", id)
	must(t, os.MkdirAll(folder, 0o700))
	meta := fmt.Sprintf(`{"id":%q,"time":"2026-11-29T13:20:07Z","took":0.4,"subject":%q,"reason":"no answer","token":1,"pids":[7],"finding":%q}`, id, dir, finding)
	must(t, os.WriteFile(filepath.Join(folder, "incident.json"), []byte(meta), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "summary.md"), []byte("# "+finding+"\n\n<script>alert(1)</script>\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "waits.txt"), []byte("nothing waits\n"), 0o600))
}

// serve serves some directories on a free port, until the test ends.
func serve(t testing.TB, o web.Options) (base string) {
	t.Helper()
	if o.Overview.Timeout == 0 {
		o.Overview.Timeout = patience
	}
	if o.Overview.Examine == 0 {
		o.Overview.Examine = -1
	}
	s, err := web.New(o)
	must(t, err)
	l, err := web.Listen("127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// shows are options for some directories, looked at often.
func shows(dirs ...string) web.Options {
	return web.Options{Overview: overview.Options{Paths: dirs}, Every: 20 * time.Millisecond}
}

// get asks and gives the code and the text.
func get(t testing.TB, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
	return r.StatusCode, string(text)
}

// until asks again until the answer has the text.
func until(t testing.TB, url, text string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		_, got := get(t, url)
		if strings.Contains(got, text) {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("%s: no %q in\n%s", url, text, got)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// raw sends bytes and gives what comes back until the server closes.
func raw(t testing.TB, base, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	must(t, err)
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	_, err = io.WriteString(c, text)
	must(t, err)
	answer, _ := io.ReadAll(c)
	return string(answer)
}
