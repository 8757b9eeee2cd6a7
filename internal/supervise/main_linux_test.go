//go:build !solehold_portable

package supervise_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

const (
	partVar = "SOLEHOLD_TEST_PART" // set, the test binary plays the part that its first argument names
	markVar = "SOLEHOLD_TEST_MARK" // inherited by everything that a test starts: how it is found again
	selfVar = "SELF"               // the test binary, for scripts
	toolVar = "SOLEHOLD"           // the binary under test, for scripts
)

// tool is the path of the solehold binary that the tests drive.
var tool string

func TestMain(m *testing.M) {
	if os.Getenv(partVar) != "" {
		play(os.Args[1:])
		return
	}
	hearHangup()
	// What the tests were given themselves is not for those that they start.
	unix.CloseRange(3, 1<<20, unix.CLOSE_RANGE_CLOEXEC)
	os.Exit(withTool(m.Run))
}

// hearHangup begins anew where this process was started to ignore SIGHUP, as by
// nohup: what it starts would ignore it, too, and Go cannot take that back.
func hearHangup() {
	env, err := exec.LookPath("env")
	if self, selfErr := os.Executable(); err == nil && selfErr == nil && signal.Ignored(syscall.SIGHUP) {
		syscall.Exec(env, append([]string{"env", "--default-signal=HUP", self}, os.Args[1:]...), os.Environ())
	}
}

func withTool(run func() int) int {
	dir, err := os.MkdirTemp("", "supervise")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755) // other users run it too
	tool = filepath.Join(dir, "solehold")
	build := exec.Command("go", "build", "-trimpath", "-o", tool, "../../cmd/solehold")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
		return 1
	}
	// Wrappers that a test has killed leave their cgroups to the next run.
	defer exec.Command(tool, "run", dir, "--", "true").Run()
	return run()
}

// play is the inside of a helper process. Those that serve live until they are
// told to end.
func play(args []string) {
	parts := map[string]func(args []string){
		"listen": listen, "files": files, "census": census, "careless": careless, "guarded": guarded, "shell": shell, "drop": drop, "force": forceIt,
		"serve": serve, "keeplock": keepLock, "say": say, "flood": flood, "hang": hang, "joined": joined, "busy": busy, "overtaken": overtaken, "relaunch": relaunch, "headless": headless,
	}
	part := parts[args[0]]
	if part == nil {
		fmt.Fprintln(os.Stderr, "no part", args[0])
		os.Exit(2)
	}
	part(args[1:])
}

// listen prints each signal that it gets, with its tag. TERM and INT end it.
func listen(args []string) {
	heard := make(chan os.Signal, 64)
	all := []os.Signal{
		syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT,
		syscall.SIGALRM, syscall.Signal(40),
	}
	signal.Notify(heard, all...)
	fmt.Println(args[0], "up", os.Getpid())
	for s := range heard {
		fmt.Println(args[0], unix.SignalName(s.(syscall.Signal)), int(s.(syscall.Signal)))
		if s == syscall.SIGTERM || s == syscall.SIGINT {
			return
		}
	}
}

// seen is what a command finds in its place.
type seen struct {
	PID, Parent int
	Files       map[int]string // what each descriptor leads to
	Env         []string       // of ours
	Third       string         // what can be read from descriptor 3
	Ignored     []string       // signals
	Group       string
}

// files prints, as JSON, what it was given.
func files([]string) {
	s := seen{PID: os.Getpid(), Parent: os.Getppid(), Files: map[int]string{}}
	for fd := range 256 {
		// fcntl first: the runtime of this program has files of its own, which
		// would not survive an exec.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		s.Files[fd], _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); slices.Contains([]string{solehold.DirVar, solehold.NameVar, solehold.TokenVar}, name) {
			s.Env = append(s.Env, v)
		}
	}
	if s.Files[3] != "" {
		text, _ := io.ReadAll(os.NewFile(3, "given"))
		s.Third = string(text)
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			s.Ignored = append(s.Ignored, unix.SignalName(sig))
		}
	}
	groups, _ := procfs.Default().Cgroups(0)
	for _, g := range groups {
		if g.Hierarchy == 0 {
			s.Group = g.Path
		}
	}
	json.NewEncoder(os.Stdout).Encode(s)
}

// census prints who is alive of those with the mark, the wrapper left out.
func census(args []string) {
	for _, p := range marked(args[0]) {
		if strconv.Itoa(p.pid) != args[1] {
			fmt.Println("alive:", p)
		}
	}
	fmt.Println("counted")
}

// careless is a wrapper with a planted fault: it does not let its command have
// the lock.
func careless(args []string) {
	if _, err := solehold.Acquire(context.Background(), args[0], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Run()
	runtime.KeepAlive(cmd)
}

// guarded is a program that guards itself, as a user of the library writes it.
func guarded(args []string) {
	signal.Ignore(syscall.SIGTERM)
	lock := solehold.OnlyOrExit(args[0])
	fmt.Println("token", lock.Token())
	untilKilled()
}

// drop closes all that it was given, as some daemons do, and works in the
// directory that it was started for.
func drop([]string) {
	unix.CloseRange(3, 1<<20, 0)
	if _, err := unix.Open(os.Getenv(solehold.DirVar)+"/file", unix.O_CREAT|unix.O_WRONLY, 0o600); err == nil {
		fmt.Println("dropped")
	}
	untilKilled()
}

// untilKilled waits for ever: a pause alone returns for each signal that the runtime sends itself.
func untilKilled() {
	for {
		unix.Pause()
	}
}
