package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// patience bounds every wait for a process. It is long, since it is reached only where something is broken.
const patience = 30 * time.Second

// binary is the built program.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kb")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "kb")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// output is what a process wrote so far.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{} // closed at the next write
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.grown)
	o.grown = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) read() (text string, grown <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.grown
}

// service is one process of kb.
type service struct {
	url    string // "" if it ended without serving
	cmd    *exec.Cmd
	stderr *output
	ended  chan struct{} // closed when the process is gone and its output complete
}

// launch starts a process and waits until it serves or has ended. It may be called by any goroutine.
func launch(t *testing.T, cmd *exec.Cmd) (*service, error) {
	s := &service{cmd: cmd, stderr: &output{grown: make(chan struct{})}, ended: make(chan struct{})}
	cmd.Stderr = s.stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-s.ended
	})
	hang := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer hang.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	s.url = strings.TrimSpace(line)
	go func() {
		cmd.Wait()
		close(s.ended)
	}()
	if err == io.EOF {
		<-s.ended
		return s, nil
	}
	return s, err
}

// kb is the command that serves dir on a free port.
func kb(dir string, args ...string) *exec.Cmd {
	return exec.Command(binary, append([]string{"-data", dir, "-addr", "127.0.0.1:0"}, args...)...)
}

// start starts a process that must serve.
func start(t *testing.T, cmd *exec.Cmd) *service {
	t.Helper()
	testneed.Linux(t)
	s, err := launch(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if s.url == "" {
		t.Fatalf("%v ended: %v\n%s", cmd.Args, cmd.ProcessState, s.log())
	}
	return s
}

// refused starts a process that must end by itself, and gives its exit code and what it wrote to stderr.
func refused(t *testing.T, cmd *exec.Cmd) (code int, stderr string) {
	t.Helper()
	testneed.Linux(t)
	s, err := launch(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if s.url != "" {
		t.Fatalf("%v serves at %s", cmd.Args, s.url)
	}
	return s.wait(t), s.log()
}

func (s *service) log() string {
	text, _ := s.stderr.read()
	return text
}

// token gives the fencing token that the process serves with.
func (s *service) token(t *testing.T) (token uint64) {
	t.Helper()
	s.waitLog(t, "listening on")
	m := regexp.MustCompile(`msg="listening on".* token=(\d+)`).FindStringSubmatch(s.log())
	if m == nil {
		t.Fatalf("no token in the log:\n%s", s.log())
	}
	fmt.Sscan(m[1], &token)
	return token
}

// waitLog waits until the log has the text.
func (s *service) waitLog(t *testing.T, want string) {
	t.Helper()
	over := time.After(patience)
	for {
		text, grown := s.stderr.read()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-grown:
		case <-s.ended:
			if !strings.Contains(s.log(), want) {
				t.Fatalf("ended without %q in the log:\n%s", want, s.log())
			}
		case <-over:
			t.Fatalf("no %q in the log:\n%s", want, text)
		}
	}
}

// wait waits for the end of the process and gives its exit code, -1 for a signal.
func (s *service) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		t.Fatalf("%v does not end:\n%s", s.cmd.Args, s.log())
	}
	return s.cmd.ProcessState.ExitCode()
}

// stop ends the process with a signal and gives its exit code.
func (s *service) stop(t *testing.T, how syscall.Signal) int {
	t.Helper()
	if err := s.cmd.Process.Signal(how); err != nil {
		t.Fatal(err)
	}
	return s.wait(t)
}

// try sends a request and gives status and body of the answer.
func (s *service) try(method, path, body string) (int, string, error) {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	client := http.Client{Timeout: patience}
	answer, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// do sends a request that must be answered with this status, and gives the body.
func (s *service) do(t *testing.T, status int, method, path, body string) string {
	t.Helper()
	got, text, err := s.try(method, path, body)
	if err != nil || got != status {
		t.Fatalf("%s %s: %d %s, error %v; want %d\nlog:\n%s", method, path, got, text, err, status, s.log())
	}
	return text
}

// tryAdd adds a note and gives its id.
func (s *service) tryAdd(title, text string) (id int64, err error) {
	body, err := json.Marshal(map[string]string{"title": title, "text": text})
	if err != nil {
		return 0, err
	}
	status, got, err := s.try("POST", "/notes", string(body))
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("%d %s", status, got)
	}
	if err != nil {
		return 0, err
	}
	var added struct{ ID int64 }
	err = json.Unmarshal([]byte(got), &added)
	return added.ID, err
}

// add adds a note that must be taken.
func (s *service) add(t *testing.T, title, text string) int64 {
	t.Helper()
	id, err := s.tryAdd(title, text)
	if err != nil {
		t.Fatalf("adding %q: %v", title, err)
	}
	return id
}

// expect demands that the note with this id is as it was added.
func (s *service) expect(t *testing.T, id int64, title, text string) {
	t.Helper()
	var got struct{ Title, Text string }
	if err := json.Unmarshal([]byte(s.do(t, 200, "GET", fmt.Sprintf("/notes/%d", id), "")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Title != title || got.Text != text {
		t.Errorf("note %d is %q, want %q with %q", id, got, title, text)
	}
}
