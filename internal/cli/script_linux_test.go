package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/solehold/solehold/internal/cli"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// TestMain makes this binary solehold itself, and the programs of
// programs_linux_test.go, under their names: scripts and the shells in them
// start all of these as processes.
func TestMain(m *testing.M) {
	if run := programs()[filepath.Base(os.Args[0])]; run != nil {
		os.Exit(run(os.Args[1:]))
	}
	unix.Umask(0o022) // scripts look at modes
	testscript.Main(onPath{m}, map[string]func(){"solehold": func() {
		os.Exit(cli.Run(context.Background(), cli.System(), os.Args[1:]))
	}})
}

// onPath puts the programs beside solehold, where every user can run them.
type onPath struct{ *testing.M }

func (m onPath) Run() int {
	bin := binDir()
	for name := range programs() {
		if err := os.Symlink("solehold", filepath.Join(bin, name)); err != nil {
			panic(err)
		}
	}
	if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil {
		panic(err)
	}
	return m.M.Run()
}

// binDir is where solehold and the programs are: testscript puts it first.
func binDir() string {
	bin, _, _ := strings.Cut(os.Getenv("PATH"), string(filepath.ListSeparator))
	return bin
}

// Each script is one case from the field, or one promise of the command line.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"needs":   needs,
			"capture": capture,
		},
		Setup: func(env *testscript.Env) error {
			env.Values["tb"] = env.T()
			env.Setenv("SOLEHOLD", filepath.Join(binDir(), "solehold"))
			env.Defer(func() { sweep(env.WorkDir) })
			if err := os.Chmod(filepath.Dir(env.WorkDir), 0o755); err != nil { // for other users
				return err
			}
			return os.Chmod(env.WorkDir, 0o755)
		},
		RequireExplicitExec: true,
	})
}

// sweep kills what a script has left behind: every process that works in its
// directory. A failed script leaves owners that are stopped, or that do not
// listen.
func sweep(dir string) {
	for again := true; again; {
		again = false
		links, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, link := range links {
			cwd, err := os.Readlink(link)
			if err != nil || cwd != dir && !strings.HasPrefix(cwd, dir+"/") {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
				again = unix.Kill(pid, unix.SIGKILL) == nil || again
			}
		}
	}
}

// needFilter is for those who run `failing`, which knows one number of fcntl(2).
func needFilter(t testing.TB) {
	t.Helper()
	testneed.Feature(t, strconv.IntSize == 64, "a 64-bit system", "run the tests on amd64 or arm64")
}

func needFuse(t testing.TB) {
	t.Helper()
	_, err := os.Stat("/dev/fuse")
	testneed.Feature(t, err == nil, "/dev/fuse", "modprobe fuse, or run the container with --device /dev/fuse")
}

// immutable tries whether files can be made immutable.
func immutable() bool {
	dir, err := os.MkdirTemp("", "immutable")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	return exec.Command("chattr", "+i", dir).Run() == nil && exec.Command("chattr", "-i", dir).Run() == nil
}

// needs says what a script needs: root, fuse, filter (of system calls), immutable
// (files), or programs by their names.
func needs(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value("tb").(testing.TB)
	for _, what := range args {
		switch what {
		case "root":
			testneed.Root(t)
			continue
		case "immutable":
			testneed.Feature(t, immutable(), "a file system with the immutable flag", "run the tests with TMPDIR on ext4, xfs or btrfs, and apt-get install e2fsprogs")
			continue
		case "filter":
			needFilter(t)
			continue
		case "fuse":
			needFuse(t)
			continue
		}
		pkg, ok := map[string]string{"strace": "strace", "unshare": "util-linux", "flock": "util-linux", "tar": "tar", "chattr": "e2fsprogs", "bash": "bash"}[what]
		if !ok {
			ts.Fatalf("no package is known for %s", what)
		}
		testneed.Program(t, what, "apt-get install "+pkg)
	}
}

// capture sets a variable to what the group of a pattern matches in the last
// standard output: capture NAME PATTERN.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATTERN")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) != 2 {
		ts.Fatalf("no match for %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}
