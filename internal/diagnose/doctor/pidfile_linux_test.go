package doctor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// pidFile writes a pid file of an age.
func pidFile(t testing.TB, name, content string, age time.Duration) string {
	t.Helper()
	path := filepath.Join(place(t), name)
	must(t, os.WriteFile(path, []byte(content), 0o644))
	at := time.Now().Add(-age)
	must(t, os.Chtimes(path, at, at))
	return path
}

// wantVerdict checks what is said of a pid file, and that only a wrong one is a
// finding.
func wantVerdict(t testing.TB, path, verdict, detail string) doctor.Report {
	t.Helper()
	r := examine(t, path)
	s := r.Paths[0]
	if s.Kind != "pid file" || s.State != verdict || !has(s.Notes, detail) {
		t.Errorf("want %s: %+v", verdict, s)
	}
	if wrong := verdict != "right"; (len(find(r, "SH040")) == 1) != wrong {
		t.Errorf("%s: %+v", verdict, r.Findings)
	}
	return r
}

func TestPidfileRight(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "600")
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	wantVerdict(t, pidFile(t, "sleep.pid", fmt.Sprintln(cmd.Process.Pid), 0), "right", "executable, start time and command line agree")
	wantVerdict(t, pidFile(t, "kb.pid", fmt.Sprintln(cmd.Process.Pid), 0), "right", "the name of the program says nothing")
}

func TestPidfileReused(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "600")
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	r := wantVerdict(t, pidFile(t, "kb.pid", fmt.Sprintln(cmd.Process.Pid), time.Hour), "reused", "is another program")
	if f := only(t, r, "SH040"); f.Confidence != doctor.Likely || !names(f.Holders, cmd.Process.Pid) {
		t.Errorf("%+v", f)
	}
	r = wantVerdict(t, pidFile(t, "sleep.pid", fmt.Sprintln(cmd.Process.Pid), time.Hour), "reused", "or the clock was set")
	if f := only(t, r, "SH040"); f.Confidence != doctor.Possible {
		t.Errorf("%+v", f)
	}
}

func TestPidfileOfNobody(t *testing.T) {
	t.Parallel()
	gone := exec.Command("true")
	must(t, gone.Run())
	wantVerdict(t, pidFile(t, "kb.pid", fmt.Sprintln(gone.Process.Pid), 0), "gone", "there is no process")
	wantVerdict(t, pidFile(t, "kb.pid", "", 0), "empty", "it is empty")
	wantVerdict(t, pidFile(t, "kb.pid", "kb\x1b[2J", 0), "no-number", "which is no pid")
	wantVerdict(t, pidFile(t, "kb.pid", "-1", 0), "no-number", "which is no pid")
	wantVerdict(t, pidFile(t, "kb.pid", fmt.Sprintln(os.Getpid()), 0), "own-pid", "this very process")
}

func TestPidfileOfThread(t *testing.T) {
	t.Parallel()
	threads, err := procfs.Default().Threads(0)
	must(t, err)
	wantVerdict(t, pidFile(t, "kb.pid", fmt.Sprintln(threads[len(threads)-1]), 0), "thread", "is a thread of")
}

func TestPidfileOfZombie(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Wait() })
	testneed.Until(t, "a zombie", func() bool {
		st, err := procfs.Default().Stat(cmd.Process.Pid)
		return err == nil && st.State == 'Z'
	})
	wantVerdict(t, pidFile(t, "kb.pid", fmt.Sprintln(cmd.Process.Pid), 0), "zombie", "has not reaped it yet")
}

// The number of a process in its own pid namespace says nothing here.
func TestPidfileOfContainer(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	a := startedBelow(t, []string{
		"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child",
		"sh", "-c", `echo 32111 >/proc/sys/kernel/ns_last_pid 2>/dev/null; exec 3<&0; "$@" <&3 & wait`, "sh",
	})
	var inner int
	testneed.Until(t, "its number", func() bool {
		pids, err := procfs.Default().Pids()
		must(t, err)
		for _, pid := range pids {
			st, err := procfs.Default().Status(pid)
			if err != nil || len(st.NSpid) != 2 {
				continue
			}
			for _, up := range procfs.Default().Ancestors(pid) {
				if command, err := procfs.Default().Cmdline(pid); up.PID == a.pid() && err == nil && len(command) == 1 && strings.HasSuffix(command[0], "doctor.test") {
					inner = st.NSpid[1]
				}
			}
		}
		return inner > 1
	})
	if _, err := procfs.Default().Stat(inner); err == nil {
		return // the number is taken here as well: nothing can be told apart
	}
	wantVerdict(t, pidFile(t, "doctor.pid", fmt.Sprintln(inner), 0), "other-namespace", "in its own pid namespace")
	wantDead(t, pidFile(t, "doctor.pid", fmt.Sprintln(inner), 0), false, "in its own pid namespace")
	// The name of its program says nothing, but the number is taken there.
	wantDead(t, pidFile(t, "kb.pid", fmt.Sprintln(inner), 0), false, "has that number in its own pid namespace")
}

// wantDead checks whether a pid file may be removed on the word of doctor.
func wantDead(t testing.TB, path string, want bool, why string) {
	t.Helper()
	dead, text := doctor.DeadPidfile(t.Context(), path, doctor.Options{Timeout: 4 * patience})
	if dead != want || !strings.Contains(text, why) {
		t.Errorf("%s: dead %v, %q; want %v, %q", path, dead, text, want, why)
	}
}

// Only a process that is proven dead makes its pid file one to remove.
func TestDeadPidfile(t *testing.T) {
	t.Parallel()
	gone, zombie, lives := exec.Command("true"), exec.Command("true"), exec.Command("sleep", "600")
	must(t, gone.Run())
	must(t, zombie.Start())
	must(t, lives.Start())
	t.Cleanup(func() { zombie.Wait(); lives.Process.Kill(); lives.Wait() })
	testneed.Until(t, "a zombie", func() bool {
		st, err := procfs.Default().Stat(zombie.Process.Pid)
		return err == nil && st.State == 'Z'
	})
	threads, err := procfs.Default().Threads(0)
	must(t, err)
	for _, c := range []struct {
		name, content string
		age           time.Duration
		dead          bool
		why           string
	}{
		{"kb.pid", fmt.Sprintln(zombie.Process.Pid), 0, true, "has not reaped it"},
		{"kb.pid", fmt.Sprintln(lives.Process.Pid), time.Hour, false, "is another program"},
		{"kb.pid", fmt.Sprintln(lives.Process.Pid), 0, false, "the start time agrees"},
		{"sleep.pid", fmt.Sprintln(lives.Process.Pid), 0, false, "agree"},
		{"sleep.pid", fmt.Sprintln(lives.Process.Pid), time.Hour, false, "the clock was set"},
		{"kb.pid", fmt.Sprintln(os.Getpid()), time.Hour, false, "this very process"},
		{"kb.pid", fmt.Sprintln(threads[len(threads)-1]), 0, false, ""},
		{"kb.pid", "", time.Hour, false, "it is empty"},
		{"kb.pid", "kb", time.Hour, false, "no pid"},
		{"kb.pid", "-1", time.Hour, false, "no pid"},
		{"kb.pid", strings.Repeat("1\n", 4096), time.Hour, false, "cannot be read as a pid file"},
		{"kb.conf", "port 80", time.Hour, false, "cannot be read as a pid file"},
	} {
		wantDead(t, pidFile(t, c.name, c.content, c.age), c.dead, c.why)
	}
	const never = 1<<22 + 1 // above the highest pid there can be
	wantDead(t, pidFile(t, "kb.pid", fmt.Sprintln(never), 0), true, "there is no process")
	wantDead(t, filepath.Join(place(t), "missing.pid"), false, "cannot be read")
}

// In a pid namespace of its own nothing is proven: the service may be outside.
func TestDeadPidfileFromInside(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	// Pid 1 is the shell there, which started after the file was written.
	gone, reused := pidFile(t, "kb.pid", fmt.Sprintln(1<<22+1), 0), pidFile(t, "kb.pid", "1\n", time.Hour)
	startedBelow(t, []string{
		"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", `exec 3<&0; "$@" <&3 & wait`, "sh",
	}, "judge "+gone, "judge "+reused)
	for path, why := range map[string]string{gone: "another pid namespace", reused: "is another program"} {
		text, err := os.ReadFile(path + ".judged")
		must(t, err)
		if !strings.HasPrefix(string(text), "false ") || !strings.Contains(string(text), why) {
			t.Errorf("%s", text)
		}
	}
}

// Locks that only exist: age, openers and workers are told; never to remove them.
func TestExistenceOnly(t *testing.T) {
	t.Parallel()
	dir := place(t)
	git := filepath.Join(dir, ".git")
	must(t, os.Mkdir(git, 0o755))
	index := filepath.Join(git, "index.lock")
	must(t, os.WriteFile(index, nil, 0o644))
	terraform := filepath.Join(dir, ".terraform.tfstate.lock.info")
	must(t, os.WriteFile(terraform, []byte("{}"), 0o644))
	single := filepath.Join(dir, "SingletonLock")
	must(t, os.Symlink("elsewhere-1234", single))
	old := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(index, old, old))
	opener := acting(t, "read "+index)
	r := examine(t, dir)
	wantIDs(t, r, "SH041", "SH041", "SH041")
	for _, f := range r.Findings {
		if f.Confidence != doctor.Possible || !has(f.Evidence, "was written", "ago") || !strings.Contains(f.Advice, "age proves nothing") {
			t.Errorf("%+v", f)
		}
		switch f.Path {
		case index:
			if !names(f.Holders, opener.pid()) || !has(f.Evidence, "2h00m ago") || !has(f.Evidence, "has it open") {
				t.Errorf("%+v", f)
			}
		case single:
			if !has(f.Evidence, "pid 1234 of host elsewhere", "cannot be asked") {
				t.Errorf("%+v", f)
			}
		}
	}
	r = examine(t, single)
	if s := r.Paths[0]; s.Kind != "existence-only lock" {
		t.Errorf("%+v", s)
	}
}

// A lock of a program that is at work this minute is nothing to tell.
func TestFreshMarker(t *testing.T) {
	t.Parallel()
	dir := place(t)
	git := filepath.Join(dir, ".git")
	must(t, os.Mkdir(git, 0o755))
	acting(t, "write "+filepath.Join(git, "index.lock"))
	wantIDs(t, examine(t, dir))
}

// Chromium's link that names a process of this host says which one that is.
func TestSingletonOfThisHost(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	must(t, err)
	cmd := exec.Command("sleep", "600")
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	single := filepath.Join(place(t), "SingletonLock")
	must(t, os.Symlink(fmt.Sprintf("%s-%d", host, cmd.Process.Pid), single))
	if f := only(t, examine(t, single), "SH041"); !has(f.Evidence, "it names pid", "sleep 600") {
		t.Errorf("%+v", f)
	}
}
