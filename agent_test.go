package solehold_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
)

// partVar names the part that this test binary plays where a test started it
// as another process.
const partVar = "SOLEHOLD_TEST_PART"

// parts are the processes that tests start.
func parts() map[string]func() {
	all := map[string]func(){
		"agent":     func() { serve(false) },
		"survivor":  func() { serve(true) },
		"inspector": inspectForEver,
		"first":     onlyOrExit,
	}
	maps.Copy(all, systemParts())
	return all
}

func TestMain(m *testing.M) {
	if part := parts()[os.Getenv(partVar)]; part != nil {
		part()
		return
	}
	m.Run()
}

// order is what a test tells an agent, another process that uses the library.
type order struct {
	Do    string // a key of actor.orders
	Dir   string
	With  with
	Args  []string
	N     int
	Child *order // passed on to the agent's own child
}

// with is the part of solehold.Options that an order can carry.
type with struct {
	Name, StateDir         string
	Wait, Timeout          time.Duration
	Create, Strict, NoSync bool
}

func (w with) options() *solehold.Options {
	return &solehold.Options{
		Name: w.Name, StateDir: w.StateDir, Wait: w.Wait, Timeout: cmp.Or(w.Timeout, answerTime),
		Create: w.Create, Strict: w.Strict, NoSync: w.NoSync,
	}
}

// answer is what came of an order. Without Text it went well.
type answer struct {
	Text     string // of the error
	Held     bool
	Self     bool
	Waiting  bool // not the end: the agent waits for Owner
	Owner    solehold.Owner
	Reason   solehold.Reason
	Path     string
	Errno    syscall.Errno
	Code     int
	Token    uint64
	N        int
	Joined   bool
	Took     time.Duration
	Status   solehold.Status
	Warnings []string
}

// wantJoined asks a holder whether a process below it has the directory too.
func wantJoined(t *testing.T, holder *agent, want bool) {
	t.Helper()
	if got := holder.must(t, order{Do: "joined"}); got.Joined != want {
		t.Errorf("joined: %t, want %t", got.Joined, want)
	}
}

func (a answer) ok() bool { return a.Text == "" }

// failure is the answer that tells err.
func failure(err error) answer {
	if err == nil {
		return answer{}
	}
	a := answer{Text: err.Error(), Code: solehold.ExitCode(err)}
	var held *solehold.HeldError
	if errors.As(err, &held) {
		a.Held, a.Self, a.Owner, a.Path = errors.Is(err, solehold.ErrHeld), held.Self, held.Holder(), held.Path
	}
	var op *solehold.OpError
	if errors.As(err, &op) {
		a.Reason, a.Path = op.Reason, op.Path
	}
	errors.As(err, &a.Errno)
	return a
}

// agent is another process that does what it is told.
type agent struct {
	cmd *exec.Cmd
	to  io.WriteCloser
	in  *json.Encoder
	out *json.Decoder
	pid int // of the agent itself, also where cmd is a tracer
}

// partOf makes a command of this test binary.
func partOf(part string, args ...string) *exec.Cmd {
	cmd := exec.Command(thisBinary(), args...)
	cmd.Env = append(os.Environ(), partVar+"="+part)
	cmd.Stderr = os.Stderr
	return cmd
}

// start starts an agent for the length of the test.
func start(t *testing.T, how ...func(*exec.Cmd)) *agent {
	t.Helper()
	cmd := partOf("agent")
	for _, h := range how {
		h(cmd)
	}
	return run(t, cmd)
}

// joining gives a process what a holder gives to its children.
func joining(dir string, token uint64) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, solehold.DirVar+"="+dir, solehold.TokenVar+"="+strconv.FormatUint(token, 10))
	}
}

func run(t *testing.T, cmd *exec.Cmd) *agent {
	t.Helper()
	tempDir(t) // so that the agent ends before the test's directories are removed
	a, err := newAgent(cmd)
	must(t, err)
	t.Cleanup(a.kill)
	return a
}

func newAgent(cmd *exec.Cmd) (*agent, error) {
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a := &agent{cmd: cmd, to: to, in: json.NewEncoder(to), out: json.NewDecoder(from)}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	hello, err := a.ask(order{Do: "hello"})
	a.pid = hello.N
	if err != nil {
		a.kill()
	}
	return a, err
}

// kill ends the agent at once and returns when its locks are gone.
func (a *agent) kill() {
	a.killTraced()
	a.cmd.Process.Kill()
	a.cmd.Wait()
}

func (a *agent) ask(o order) (answer, error) {
	var got answer
	if err := a.in.Encode(o); err != nil {
		return got, err
	}
	err := a.out.Decode(&got)
	return got, err
}

// tell gives an order without waiting for the answer.
func (a *agent) tell(t *testing.T, o order) {
	t.Helper()
	must(t, a.in.Encode(o))
}

// hear takes the next answer.
func (a *agent) hear(t *testing.T) answer {
	t.Helper()
	var got answer
	must(t, a.out.Decode(&got))
	return got
}

// do gives an order and takes the answer.
func (a *agent) do(t *testing.T, o order) answer {
	t.Helper()
	got, err := a.ask(o)
	must(t, err)
	return got
}

// must gives an order that has to go well.
func (a *agent) must(t *testing.T, o order) answer {
	t.Helper()
	got := a.do(t, o)
	if !got.ok() {
		t.Fatalf("%s: %s", o.Do, got.Text)
	}
	return got
}

// acquire tries to take dir.
func (a *agent) acquire(t *testing.T, dir string) answer {
	t.Helper()
	return a.do(t, order{Do: "acquire", Dir: dir})
}

func (a *agent) inspect(t *testing.T, dir string) solehold.Status {
	t.Helper()
	return a.must(t, order{Do: "inspect", Dir: dir}).Status
}

// waits tells an agent to wait for dir and returns when it does.
func (a *agent) waits(t *testing.T, dir string) {
	t.Helper()
	a.tell(t, order{Do: "acquire", Dir: dir, With: with{Wait: solehold.WaitForever}})
	if got := a.hear(t); !got.Waiting {
		t.Fatalf("it does not wait: %+v", got)
	}
}

// gets hears the end of an agent's waiting.
func (a *agent) gets(t *testing.T) answer {
	t.Helper()
	for {
		if got := a.hear(t); !got.Waiting {
			return got
		}
	}
}

// onlyOrExit is a program whose first line is OnlyOrExit. It ends when its
// input does.
func onlyOrExit() {
	lock := solehold.OnlyOrExit(os.Args[1])
	os.Stdout.WriteString(strconv.FormatUint(lock.Token(), 10) + "\n")
	io.Copy(io.Discard, os.Stdin)
	lock.Release()
}

// first starts a program that begins with OnlyOrExit.
func first(dir string) *exec.Cmd {
	cmd := partOf("first", dir)
	cmd.Stderr = nil
	return cmd
}
