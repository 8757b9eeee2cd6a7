package drill_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// bootFile guards by a number in a file and the boot that it was written in, as careful scripts do.
const bootFile = `
boot=$(cat /proc/sys/kernel/random/boot_id)
if [ -s "$1/pid" ] && read -r pid was <"$1/pid" && [ "$was" = "$boot" ] && kill -0 "$pid" 2>/dev/null; then exit 3; fi
echo "$$ $boot" >"$1/pid"
exec sleep 1000 9>"$1/data"
`

// ageFile takes a file over that has not been touched for a minute of the time since boot.
const ageFile = `
read -r now rest </proc/uptime; now=${now%.*}
if read -r was <"$1/alive" && [ $((now - was)) -lt 60 ]; then exit 3; fi
echo "$now" >"$1/alive"
exec sleep 1000 9>"$1/data"
`

// TestWorlds runs what needs a small machine of its own on guards that see it through, and on some that do not.
func TestWorlds(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	before := mounts(t)
	t.Run("all", func(t *testing.T) {
		boot, age := script(t, bootFile, "{dir}"), script(t, ageFile, "{dir}")
		naive := script(t, pidFile, "{dir}")
		bolt := self("lock-and-write", "{dir}/data")
		for name, c := range map[string]struct {
			scenario string
			command  []string
			want     drill.Verdict
			because  string
		}{
			"full disk":                 {"full-disk", bolt, drill.Pass, ""},
			"full disk, nothing":        {"full-disk", self("write", "{dir}/data"), drill.Failed, "2 owners at once"},
			"read-only":                 {"read-only", bolt, drill.Pass, ""},
			"read-only, nothing":        {"read-only", self("listen", "{dir}/../{n}"), drill.Failed, "2 owners at once"},
			"clock":                     {"clock", bolt, drill.Pass, ""},
			"clock, age of a file":      {"clock", age, drill.Failed, "2 owners at once"},
			"pid reuse":                 {"pid-reuse", bolt, drill.Pass, ""},
			"pid reuse, pid file":       {"pid-reuse", naive, drill.Failed, "no owner"},
			"pid reuse, pid and boot":   {"pid-reuse", boot, drill.Failed, "no owner"},
			"pid reuse, kills by pid":   {"pid-reuse", script(t, `[ -s "$1/pid" ] && kill -9 "$(cat "$1/pid")"; echo $$ >"$1/pid"; exec sleep 1000 9>"$1/data"`, "{dir}"), drill.Failed, "had nothing to do with it"},
			"reboot":                    {"reboot", bolt, drill.Pass, ""},
			"reboot, pid file":          {"reboot", naive, drill.Failed, "no owner"},
			"reboot, pid file and boot": {"reboot", boot, drill.Pass, ""},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				expect(t, run(t, drill.Config{Scenario: c.scenario, Command: c.command}), c.want, c.because)
			})
		}
	})
	if after := mounts(t); after != before {
		t.Errorf("mounts outside:\n%s\nbefore:\n%s", after, before)
	}
}

// mounts lists the mounts of this machine that a drill could have made.
func mounts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	var ours []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "solehold-drill") || strings.Contains(line, "boot_id") {
			ours = append(ours, line)
		}
	}
	return strings.Join(ours, "")
}

// TestFullDiskOfTheUser covers a real directory: what is in it is seen, and nothing of it is changed.
func TestFullDiskOfTheUser(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "old"), []byte("as it was"), 0o640))
	must(t, os.Chown(dir, 65534, 65534))
	text := `[ "$(cat "$1/old")" = "as it was" ] || exit 9; echo new >"$1/old" || exit 8; exec sleep 1000 9>"$1/data"`
	r := run(t, drill.Config{Scenario: "full-disk", Dir: dir, Command: script(t, text, "{dir}")})
	if r.Owners < 1 {
		t.Errorf("%d owners, %q", r.Owners, r.Reasons)
	}
	got, err := os.ReadFile(filepath.Join(dir, "old"))
	entries, _ := os.ReadDir(dir)
	if err != nil || string(got) != "as it was" || len(entries) != 1 {
		t.Errorf("%q, %v, %v", got, err, entries)
	}
}

// TestLeak runs the leak on guards whose lock a child inherits, and on some whose it does not.
func TestLeak(t *testing.T) {
	t.Parallel()
	flock := testneed.Program(t, "flock", "apt-get install util-linux")
	worker := self("write", "{dir}/data")
	for name, c := range map[string]struct {
		command []string
		want    drill.Verdict
		because string
	}{
		"flock -n":     {append([]string{flock, "-n", "{dir}/lock"}, worker...), drill.Failed, "a child that outlived its owner, keeps the others out"},
		"flock -n -o":  {append([]string{flock, "-n", "-o", "{dir}/lock"}, worker...), drill.Pass, ""},
		"closed early": {self("lock-and-write", "{dir}/data"), drill.Pass, ""},
		"shell":        {script(t, `exec 9>"$1/data"; `+flock+` -n 9 || exit 1; exec sleep 1000`, "{dir}"), drill.Failed, "keeps the others out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, run(t, drill.Config{Scenario: "leak", Command: c.command, Starters: 2}), c.want, c.because)
		})
	}
}

// TestBear makes programs start a child, often, and sees them work as before.
func TestBear(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{
		"one thread": {testneed.Program(t, "cat", "install coreutils")},
		"Go":         self("echo"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(argv[0], argv[1:]...)
			in, err := cmd.StdinPipe()
			must(t, err)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			defer cmd.Wait()
			defer cmd.Process.Kill()
			defer signalled(cmd.Process.Pid)() // before it is collected, for its pid may be another's then
			for i := range rounds(2000) {
				child, err := drill.Bear(cmd.Process.Pid, os.Args[0], drill.BystanderVerb)
				must(t, err)
				if got := parentOf(t, child); got != cmd.Process.Pid {
					t.Fatalf("the parent of %d is %d, not %d", child, got, cmd.Process.Pid)
				}
				must(t, syscall.Kill(child, syscall.SIGKILL)) // it is not collected by anybody
				word := []byte{'a' + byte(i%26), '\n'}
				if _, err := in.Write(word); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, 2)
				if _, err := out.Read(got); err != nil || string(got) != string(word) {
					t.Fatalf("after child %d: %q, %v", i, got, err)
				}
			}
		})
	}
}

// signalled sends a process signals that it does not heed, which keep a call of it from beginning now and then.
func signalled(pid int) (stop func()) {
	done := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() {
		often := time.NewTicker(30 * time.Microsecond)
		defer often.Stop()
		for {
			select {
			case <-often.C:
				syscall.Kill(pid, syscall.SIGWINCH)
			case <-done:
				return
			}
		}
	})
	return func() { close(done); sender.Wait() }
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	st, err := procStat(pid)
	must(t, err)
	return st.PPID
}

// TestBearErrors has what cannot be done: nothing is left of it, and the process goes on.
func TestBearErrors(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1000")
	must(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := drill.Bear(cmd.Process.Pid, "/no/such/program"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no program: %v", err)
	}
	if _, err := drill.Bear(cmd.Process.Pid, strings.Repeat("x", 5000)); err == nil {
		t.Error("a word that is too long is taken")
	}
	st, err := procStat(cmd.Process.Pid)
	if err != nil || !strings.ContainsRune("RS", rune(st.State)) { // neither stopped nor traced
		t.Errorf("afterwards: %+v, %v", st, err)
	}
	if _, err := drill.Bear(os.Getpid()); err == nil {
		t.Error("this process traces itself")
	}
}
