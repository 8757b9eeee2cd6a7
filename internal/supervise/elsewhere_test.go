//go:build darwin || dragonfly || freebsd || netbsd || openbsd || windows || (linux && solehold_portable)

package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// partVar makes this test binary a process that a test needs.
const partVar = "SOLEHOLD_TEST_PART"

// patience bounds each wait.
const patience = time.Minute

func TestMain(m *testing.M) {
	switch part := os.Getenv(partVar); part {
	case "":
		os.Exit(m.Run())
	case "stay": // until its input ends
		fmt.Println("up", os.Getpid())
		io.Copy(io.Discard, os.Stdin)
	case "parent": // the same, above another one
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), partVar+"=stay")
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		if err := child.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		child.Wait()
	case "tell": // on the descriptor that it was given
		tellFrom(os.Args[len(os.Args)-1])
	}
}

// tellFrom says in the words of a starter how it went.
func tellFrom(word string) {
	_, number, _ := strings.Cut(word, "=")
	fd, err := strconv.Atoi(number)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	newStarter(fd).tell(&solehold.HeldError{Path: "there"})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// process is one that a test has started.
type process struct {
	*exec.Cmd
	in   io.WriteCloser
	pids []int // of it and those below that said so
}

// playing starts a part that has said n times that it is up. It ends with the test.
func playing(t *testing.T, part string, n int) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), partVar+"="+part)
	var err error
	p.in, err = p.StdinPipe()
	must(t, err)
	out, err := p.StdoutPipe()
	must(t, err)
	must(t, p.Start())
	t.Cleanup(func() {
		p.in.Close()
		p.Process.Kill()
		p.Wait()
	})
	lines := bufio.NewScanner(out)
	for range n {
		if !lines.Scan() {
			t.Fatal("it ended before it was up")
		}
		_, number, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		pid, err := strconv.Atoi(number)
		must(t, err)
		p.pids = append(p.pids, pid)
	}
	return p
}

// A process is held as the one that was seen: another start is another process.
func TestGrip(t *testing.T) {
	t.Parallel()
	p := playing(t, "stay", 1)
	b, err := birthOf(p.pids[0])
	must(t, err)
	if b.start == 0 || b.pid != p.pids[0] {
		t.Fatalf("%+v", b)
	}
	if g, err := grasp(birth{b.pid, b.start + 1}); !errors.Is(err, procid.ErrNotThisProcess) {
		t.Errorf("another start: %v, %v", g, err)
	}
	g, err := grasp(b)
	must(t, err)
	defer g.Close()
	if g.Ended() {
		t.Error("a living process has ended")
	}
	must(t, g.Signal(syscall.SIGKILL))
	go p.Wait() // where a parent must reap
	for end := time.Now().Add(patience); !g.Ended(); await(g, time.Second) {
		if time.Now().After(end) {
			t.Fatal("it does not end")
		}
	}
	if err := g.Signal(syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("a process that has ended: %v", err)
	}
	if g, err := grasp(b); err == nil {
		t.Errorf("it was held when it had ended: %v", g)
	}
}

// Nobody is held by a number that nobody has.
func TestGripOfNobody(t *testing.T) {
	t.Parallel()
	const nobody = 1<<22 + 12345*4
	if b, err := birthOf(nobody); err == nil {
		t.Errorf("%+v", b)
	}
	if g, err := grasp(birth{nobody, 1}); err == nil {
		t.Errorf("%v", g)
	}
	if b, err := birthOf(0); err == nil {
		t.Errorf("number 0 is %+v", b)
	}
	if all := birthsBelow(nobody); len(all) != 0 {
		t.Error(all)
	}
}

// What runs below is found over the generations, and what is above too.
func TestFamily(t *testing.T) {
	t.Parallel()
	p := playing(t, "parent", 1)
	child := p.pids[0]
	var below []int
	for _, b := range birthsBelow(p.Process.Pid) {
		below = append(below, b.pid)
	}
	if !slices.Contains(below, child) || slices.Contains(below, p.Process.Pid) {
		t.Errorf("%v below %d, want %d", below, p.Process.Pid, child)
	}
	if above := ancestors(child); !slices.Contains(above, p.Process.Pid) || !slices.Contains(above, os.Getpid()) {
		t.Errorf("%v above %d", above, child)
	}
	if slices.Contains(ancestors(0), os.Getpid()) {
		t.Error("this process is above itself")
	}
	if !above([]int{os.Getpid()}) || above([]int{child}) {
		t.Error("above judges wrongly")
	}
	if command := strings.Join(commandOf(child), " "); command == "" {
		t.Error("it has no command")
	}
}

// A target stops those that were named, with those below, and nobody else.
func TestTarget(t *testing.T) {
	t.Parallel()
	p, other := playing(t, "parent", 1), playing(t, "stay", 1)
	target := newTarget()
	defer target.close()
	target.take([]int{p.Process.Pid, other.pids[0]})
	target.keep([]int{p.Process.Pid}) // named once more
	go p.Wait()
	must(t, target.stop(t.Context(), stopping{signal: syscall.SIGTERM, grace: patience}))
	if pids := target.pids(); !slices.Contains(pids, p.pids[0]) || slices.Contains(pids, other.pids[0]) {
		t.Errorf("stopped %v", pids)
	}
	b, err := birthOf(other.pids[0])
	must(t, err)
	if g, err := grasp(b); err != nil || g.Ended() {
		t.Errorf("a bystander was stopped: %v", err)
	}
}

// The clocks go forward, and the one that counts sleep is not behind.
func TestClocks(t *testing.T) {
	t.Parallel()
	boot, awake := systemClocks()
	later, _ := systemClocks()
	if boot <= 0 || awake <= 0 || later < boot || awake > boot+sleepSlack {
		t.Error(boot, awake, later)
	}
}

// What this system has not is refused with the reason that has its own code.
func TestUnable(t *testing.T) {
	t.Parallel()
	must(t, able(Config{StopSignal: DefaultStopSignal}))
	err := able(Config{StopSignal: DefaultStopSignal, Health: &Check{Beat: time.Second}})
	var op *solehold.OpError
	if !errors.As(err, &op) || op.Reason != solehold.Unsupported || solehold.ExitCode(err) != 64 || !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := (Watch{Unit: "kb"}).Run(t.Context()); !errors.Is(err, errors.ErrUnsupported) || solehold.ExitCode(err) != 64 {
		t.Error(err)
	}
	if err := Adopt([]string{"a", "b"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// Who listens on a port is not asked on this system: a stranger's answer counts.
func TestEveryAnswerCounts(t *testing.T) {
	t.Parallel()
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer stranger.Close()
	probe, err := health.TCP(stranger.Addr().String())
	must(t, err)
	for _, id := range []*identity{(&runner{}).identity(), (&lookout{}).identity()} {
		if got := id.check(probe.Check(t.Context())); !got.Verdict.Good() {
			t.Errorf("%v", got)
		}
	}
}

// A launched run tells its starter, over a descriptor that nobody else gets.
func TestStarter(t *testing.T) {
	t.Parallel()
	said, tell, err := os.Pipe()
	must(t, err)
	defer said.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partVar+"=tell")
	cmd.Args = append(cmd.Args, fmt.Sprintf("--started-fd=%d", detach(cmd, tell)))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	tell.Close()
	text, err := io.ReadAll(said)
	must(t, err)
	words, _ := io.ReadAll(out)
	must(t, cmd.Wait())
	if !strings.HasPrefix(string(text), refusedWord) || !strings.Contains(string(text), "there") {
		t.Errorf("%q, %s", text, words)
	}
}

// This process is the one that it says it is.
func TestSelf(t *testing.T) {
	t.Parallel()
	b, err := birthOf(os.Getpid())
	must(t, err)
	id, err := procid.Of(procfs.Default(), 0)
	must(t, err)
	if b != (birth{os.Getpid(), id.StartTicks}) {
		t.Errorf("%+v, %+v", b, id)
	}
}
