package main_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/testneed"
)

// TestSecondStart is the report from the field: a second launcher starts the service while it runs.
func TestSecondStart(t *testing.T) {
	dir := t.TempDir()
	first := start(t, kb(dir))
	id := first.add(t, "before", "the second start")

	best := patience
	for range 3 { // the machine may be busy with something else
		began := time.Now()
		code, line := refused(t, kb(dir))
		best = min(best, time.Since(began))
		owner := fmt.Sprintf("already has its owner: pid %d ", first.cmd.Process.Pid)
		if code != 0 || strings.Count(line, "\n") != 1 || !strings.Contains(line, owner) {
			t.Errorf("the second start ended with %d and %q", code, line)
		}
	}
	if best > time.Second {
		t.Errorf("the second start took %v", best)
	}
	first.do(t, 200, "GET", "/healthz", "")
	first.expect(t, id, "before", "the second start")
}

// TestBothEntrancesAtOnce starts many at the same instant: one serves, and the others leave in peace.
func TestBothEntrancesAtOnce(t *testing.T) {
	testneed.Linux(t)
	const starters = 5
	for round := range 3 {
		dir := t.TempDir()
		gate := make(chan struct{})
		all := make([]*service, starters)
		var group sync.WaitGroup
		for i := range all {
			group.Go(func() {
				<-gate
				var err error
				if all[i], err = launch(t, kb(dir)); err != nil {
					t.Error(err)
				}
			})
		}
		close(gate)
		group.Wait()
		if t.Failed() {
			return
		}
		checkOneServes(t, round, all)
	}
}

func checkOneServes(t *testing.T, round int, all []*service) {
	t.Helper()
	serving := 0
	for _, s := range all {
		if s.url != "" {
			serving++
			s.do(t, 200, "GET", "/healthz", "")
		} else if code := s.wait(t); code != 0 || strings.Count(s.log(), "\n") != 1 {
			t.Errorf("round %d: a starter ended with %d and %q", round, code, s.log())
		}
	}
	if serving != 1 {
		t.Errorf("round %d: %d serve", round, serving)
	}
}

func TestStopAndStart(t *testing.T) {
	dir := t.TempDir()
	for round, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s := start(t, kb(dir))
		title := fmt.Sprint("round ", round)
		s.add(t, title, "kept")
		for id := range round + 1 {
			s.expect(t, int64(id+1), fmt.Sprint("round ", id), "kept")
		}
		if code := s.stop(t, how); code != 0 {
			t.Errorf("%v ends with %d:\n%s", how, code, s.log())
		}
		for _, want := range []string{"listening on", "shutting down", "msg=bye"} {
			if strings.Count(s.log(), want) != 1 {
				t.Errorf("the log has not one %q:\n%s", want, s.log())
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "kb.db-wal")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("SQLite's log was not moved into the database: %v", err)
		}
	}
}

// TestKilledWhileWriting kills the process in the midst of writes. Each note that was acknowledged must be there.
func TestKilledWhileWriting(t *testing.T) {
	dir := t.TempDir()
	first := start(t, kb(dir))
	const enough = 50
	var (
		mu     sync.Mutex
		added  = map[int64]string{}
		kill   = make(chan struct{})
		writer sync.WaitGroup
	)
	for w := range 4 {
		writer.Go(func() {
			for i := 0; ; i++ {
				title := fmt.Sprintf("writer %d note %d", w, i)
				id, err := first.tryAdd(title, "acknowledged")
				if err != nil {
					return // the kill
				}
				mu.Lock()
				added[id] = title
				if len(added) == enough {
					close(kill)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-kill:
	case <-time.After(patience):
		t.Fatal("the notes are not taken")
	}
	first.stop(t, syscall.SIGKILL)
	writer.Wait()

	second := start(t, kb(dir))
	for id, title := range added {
		second.expect(t, id, title, "acknowledged")
	}
	if a, b := first.token(t), second.token(t); b <= a {
		t.Errorf("token %d came after %d", b, a)
	}
}

func TestEightWriters(t *testing.T) {
	s := start(t, kb(t.TempDir()))
	const writers, each = 8, 12
	ids := make([][each]int64, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				var err error
				if ids[w][i], err = s.tryAdd(fmt.Sprintf("w%d n%d", w, i), "together"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for w := range writers {
		for i, id := range ids[w] {
			s.expect(t, id, fmt.Sprintf("w%d n%d", w, i), "together")
		}
	}
	if n := len(s.search(t, "together", "limit=100")); n != writers*each {
		t.Errorf("%d notes are found", n)
	}
}

// upload is a request whose handler waits for its body.
type upload struct {
	conn net.Conn
	in   *bufio.Reader
	body string
}

// beginUpload returns when the handler of the request has begun: its first read of the body makes the server ask for it.
func beginUpload(t *testing.T, s *service, body string) *upload {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "POST /notes HTTP/1.1\r\nHost: kb\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	u := &upload{conn, bufio.NewReader(conn), body}
	if line, err := u.in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	u.in.ReadString('\n') // the empty line behind it
	return u
}

// finish sends the body and gives the status of the answer.
func (u *upload) finish(t *testing.T) int {
	t.Helper()
	u.send()
	return u.status(t)
}

func (u *upload) send() { fmt.Fprint(u.conn, u.body) }

func (u *upload) status(t *testing.T) int {
	t.Helper()
	answer, err := http.ReadResponse(u.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// TestRequestsEndBeforeRelease: a request under way at SIGTERM is answered, and meanwhile nobody else may start.
func TestRequestsEndBeforeRelease(t *testing.T) {
	dir := t.TempDir()
	first := start(t, kb(dir))
	u := beginUpload(t, first, `{"title": "late", "text": "but in time"}`)
	first.cmd.Process.Signal(syscall.SIGTERM)
	first.waitLog(t, "shutting down")
	if code, line := refused(t, kb(dir)); code != 0 || !strings.Contains(line, "already has its owner") {
		t.Errorf("a start during the shutdown ended with %d and %q", code, line)
	}
	if status := u.finish(t); status != http.StatusCreated {
		t.Errorf("the request got %d", status)
	}
	if code := first.wait(t); code != 0 {
		t.Errorf("ended with %d:\n%s", code, first.log())
	}
	start(t, kb(dir)).expect(t, 1, "late", "but in time")
}

// remove removes a data directory under its holder, which may make files there at the same time.
func remove(t *testing.T, dir string) {
	t.Helper()
	for range 1000 {
		if os.RemoveAll(dir) == nil {
			return
		}
	}
	t.Fatalf("%s cannot be removed", dir)
}

// TestLoss removes the data directory. A successor takes the new one of that name while a request of the first process is
// still under way: that request must not write, and the end of the first must not harm the second.
func TestLoss(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := start(t, kb(dir))
	u := beginUpload(t, first, `{"title": "late", "text": "too late"}`)
	remove(t, dir)
	first.waitLog(t, "shutting down")

	second := start(t, kb(dir))
	id := second.add(t, "of the successor", "stays")
	if status := u.finish(t); status != http.StatusServiceUnavailable {
		t.Errorf("the request under way got %d", status)
	}
	if code := first.wait(t); code != 76 || !strings.Contains(first.log(), "the lock is lost: the data directory was removed") {
		t.Errorf("ended with %d:\n%s", code, first.log())
	}
	second.add(t, "and another", "stays")
	if code := second.stop(t, syscall.SIGKILL); code != -1 { // so that what it has lies in SQLite's log
		t.Errorf("ended with %d", code)
	}
	start(t, kb(dir)).expect(t, id, "of the successor", "stays")
}

// TestReleaseRequested asks as `solehold release` does: by a file for the token that is meant.
func TestReleaseRequested(t *testing.T) {
	dir := t.TempDir()
	s := start(t, kb(dir))
	made := filepath.Join(t.TempDir(), "release")
	if err := os.WriteFile(made, []byte(`{"token": `+strconv.FormatUint(s.token(t), 10)+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(made, filepath.Join(dir, ".solehold", "release")); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != 0 || !strings.Contains(s.log(), "asked to let go") {
		t.Errorf("ended with %d:\n%s", code, s.log())
	}
	start(t, kb(dir)).do(t, 200, "GET", "/healthz", "") // the old request is not for this token
}

// TestBelowWrapper has this test hold the directory as `solehold run` does: the service takes the seat beside it.
func TestBelowWrapper(t *testing.T) {
	testneed.Linux(t)
	dir := t.TempDir()
	lock, err := solehold.Acquire(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	below := kb(dir)
	below.Env = append(os.Environ(), solehold.DirVar+"="+lock.Dir(), solehold.TokenVar+"="+strconv.FormatUint(lock.Token(), 10))
	s := start(t, below)
	if s.token(t) != lock.Token() {
		t.Errorf("it has token %d, the wrapper %d", s.token(t), lock.Token())
	}
	s.add(t, "below", "a wrapper")
	if code, line := refused(t, kb(dir)); code != 0 || !strings.Contains(line, "already has its owner") {
		t.Errorf("a start beside the wrapper ended with %d and %q", code, line)
	}
	if code := s.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("ended with %d:\n%s", code, s.log())
	}
}

func TestAddrFile(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "addr")
	s := start(t, kb(dir, "-addr-file", file))
	refused(t, kb(dir, "-addr-file", file)) // must leave it alone
	got, err := os.ReadFile(file)
	if err != nil || "http://"+string(got) != s.url+"\n" {
		t.Errorf("the file has %q, %v; the service is at %s", got, err, s.url)
	}
	s.stop(t, syscall.SIGTERM)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// TestDataDirectory finds the directory by the environment and by default. Its name has what means something in a URI.
func TestDataDirectory(t *testing.T) {
	work := t.TempDir()
	odd := filepath.Join(work, "ü ?a=b&c#d %41")
	byEnv := exec.Command(binary, "-addr", "127.0.0.1:0")
	byEnv.Env = append(os.Environ(), "SOLEHOLD_DIR="+odd)
	byDefault := exec.Command(binary, "-addr", "127.0.0.1:0")
	byDefault.Dir, byDefault.Env = work, append(os.Environ(), "SOLEHOLD_DIR=")
	for dir, cmd := range map[string]*exec.Cmd{odd: byEnv, filepath.Join(work, "data"): byDefault} {
		start(t, cmd).add(t, "where", "here")
		if _, err := os.Stat(filepath.Join(dir, "kb.db")); err != nil {
			t.Error(err)
		}
	}
}

// TestCannotStart: the ends with an error are told by their codes, and leave nothing held.
func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	garbage := t.TempDir()
	if err := os.WriteFile(filepath.Join(garbage, "kb.db"), []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cmd  *exec.Cmd
		code int
		want string
	}{
		{kb(dir, "stray"), 2, "Usage"},
		{exec.Command(binary, "-data", dir, "-addr", taken.Addr().String()), 1, "address already in use"},
		{kb(dir, "-addr-file", filepath.Join(dir, "no", "such")), 1, "no such file"},
		{kb(filepath.Join(dir, "no", "such")), 73, "no such file"},
		{kb(garbage), 1, "kb.db: "},
	} {
		if code, text := refused(t, c.cmd); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%v ended with %d, want %d with %q:\n%s", c.cmd.Args[1:], code, c.code, c.want, text)
		}
	}
	start(t, kb(dir))
}
