package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journal"
)

// actVar makes this test binary hold every directory below one, until its input ends.
const actVar = "SOLEHOLD_TEST_HOLD"

// patience bounds every wait for something that has to happen.
const patience = 60 * time.Second

var built struct {
	sync.Once
	folder string
	err    error
}

func TestMain(m *testing.M) {
	base, ok := os.LookupEnv(actVar)
	if !ok {
		code := m.Run()
		os.RemoveAll(built.folder)
		os.Exit(code)
	}
	dirs, _ := filepath.Glob(base + "/*")
	for _, dir := range dirs {
		if _, err := solehold.Acquire(context.Background(), dir, &solehold.Options{NoSync: true}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// program builds the lean binary and the companion, as they are installed.
func program(t *testing.T) (solehold, serve string) {
	t.Helper()
	built.Do(func() {
		built.folder, built.err = os.MkdirTemp("", "serve-")
		if built.err == nil {
			build := exec.Command("go", "build", "-o", built.folder+"/", ".", "../solehold")
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				built.err = fmt.Errorf("%w: %s", err, out)
			}
		}
	})
	must(t, built.err)
	return filepath.Join(built.folder, "solehold"), filepath.Join(built.folder, "solehold-serve")
}

// hold holds every directory below base in another process until the test ends.
func hold(t *testing.T, base string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), actVar+"="+base)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line)
	}
}

// served is a running program.
type served struct {
	*exec.Cmd
	base   string // of its addresses
	client *http.Client
	out    *bufio.Reader
}

// serve starts a command line and waits until it says where it listens.
func serve(t *testing.T, words ...string) *served {
	t.Helper()
	s := &served{Cmd: exec.Command(words[0], words[1:]...), client: http.DefaultClient}
	s.Stderr = os.Stderr
	out, err := s.StdoutPipe()
	must(t, err)
	must(t, s.Start())
	s.out = bufio.NewReader(out)
	t.Cleanup(func() {
		s.Process.Signal(syscall.SIGTERM)
		io.Copy(io.Discard, s.out)
		if err := s.Wait(); err != nil {
			t.Errorf("at its end: %v", err)
		}
	})
	line, err := s.out.ReadString('\n')
	must(t, err)
	s.base = strings.TrimSuffix(strings.TrimPrefix(line, "solehold: serving "), "/\n")
	if path, ok := strings.CutPrefix(strings.TrimSpace(s.base), "unix:"); ok {
		s.base = "http://localhost"
		s.client = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	}
	return s
}

// get gives the text of a page, and the time until its first byte.
func (s *served) get(t *testing.T, path string) (string, time.Duration) {
	t.Helper()
	begun := time.Now()
	r, err := s.client.Get(s.base + path)
	must(t, err)
	defer r.Body.Close()
	first := time.Since(begun)
	text, err := io.ReadAll(r.Body)
	must(t, err)
	if r.StatusCode != http.StatusOK {
		t.Errorf("%s: %d %s", path, r.StatusCode, text)
	}
	return string(text), first
}

// until asks again until the page has the text.
func (s *served) until(t *testing.T, path, text string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		got, _ := s.get(t, path)
		if strings.Contains(got, text) {
			return got
		}
		if time.Now().After(end) {
			t.Fatalf("%s: no %q in\n%.3000s", path, text, got)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// past writes the history of a directory that had some holders.
func past(t *testing.T, dir string, events int) {
	t.Helper()
	state := filepath.Join(dir, ".solehold")
	must(t, os.MkdirAll(state, 0o700))
	var text []byte
	kinds := journal.Kinds()
	for n := range events {
		line, err := journal.Encode(journal.Event{
			Time: time.Now().Add(-24*time.Hour + time.Duration(n)*time.Second), Seq: int64(n), Boot: "boot", Kind: kinds[n%len(kinds)], Token: uint64(n/len(kinds)) + 1,
			PID: 1000 + n, Name: "kb --addr :8080", By: "kb.service", Detail: "something happened here that is told in half a line of text",
		})
		must(t, err)
		text = append(text, line...)
	}
	must(t, os.WriteFile(filepath.Join(state, journal.Name), text, 0o600))
}
