package agent_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

const workVar = "SOLEHOLD_AGENT_TEST_WORK" // makes this binary the command of a run; its value is a file

// clusterProgram is the name of its companion.
const clusterProgram = "solehold-cluster"

// tool is the path of the solehold binary that the tests drive; its companion lies beside it.
var tool string

func TestMain(m *testing.M) {
	if how := os.Getenv(hostileVar); how != "" {
		hostile(how)
		return
	}
	if file := os.Getenv(workVar); file != "" {
		work(file, os.Args[1:])
		return
	}
	os.Exit(withTools(m.Run))
}

func withTools(run func() int) int {
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755) // for other users
	tool = filepath.Join(dir, "solehold")
	build := exec.Command("go", "build", "-o", dir+"/", "../../cmd/solehold", "../../cmd/solehold-cluster")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	// Wrappers that a test has killed leave their cgroups to the next run.
	defer exec.Command(tool, "run", dir, "--", "true").Run()
	return run()
}

// begun is what the command finds when it starts: one line of its file, after the time of its last act.
type begun struct {
	PID   int
	Owned time.Duration
	Token uint64
	Env   []string
}

// work acts until it is killed: each millisecond it writes the time since boot to the head of its file. With "stubborn"
// it does not heed SIGTERM; with "brood" a child of a session of its own acts in its place.
func work(file string, how []string) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		os.Exit(2)
	}
	if len(how) > 0 && how[0] == "brood" {
		brood()
		return
	}
	if len(how) > 0 {
		signal.Ignore(syscall.SIGTERM)
	}
	clock := cluster.SystemClock()
	line, err := json.Marshal(begun{PID: os.Getpid(), Owned: clock.Now(), Token: number(os.Getenv("SOLEHOLD_TOKEN")), Env: os.Environ()})
	if err != nil {
		os.Exit(2)
	}
	f.WriteAt(append(line, '\n'), 8)
	for range time.NewTicker(time.Millisecond).C {
		f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(clock.Now())), 0)
	}
}

// number reads a token; 0 is none.
func number(text string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n
}

// brood starts the one that acts, and waits for it.
func brood() {
	cmd := exec.Command(os.Args[0], "stubborn")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Run()
}
