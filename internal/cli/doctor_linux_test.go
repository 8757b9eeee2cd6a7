package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// doctorReport runs doctor as a process and reads its answer.
func doctorReport(t testing.TB, args ...string) (doctor.Report, int) {
	t.Helper()
	r := program(t, args[0], append(args[1:], "--json")...)
	var report doctor.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	return report, r.code
}

// locked has a process hold a lock of another program for the length of the test.
func locked(t testing.TB, file string) *exec.Cmd {
	t.Helper()
	testneed.Program(t, "flock", "apt-get install util-linux")
	cmd := exec.Command("flock", file, "sh", "-c", "echo; exec sleep 600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	return cmd
}

// Nothing is taken, written, opened for writing or signalled.
func TestG6DoctorTouchesNothing(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "strace", "apt-get install strace")
	dir := dataDir(t)
	hold(t, dir, "sleep", "600")
	lf := filepath.Join(filepath.Dir(dir), "lf")
	locked(t, lf)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(dir), "kb.pid"), []byte("1\n"), 0o644))
	trace := filepath.Join(t.TempDir(), "trace")
	for _, paths := range [][]string{{}, {dir, lf, filepath.Dir(dir)}} {
		args := append([]string{"-f", "-qq", "-o", trace, "-e", "signal=none", "solehold", "doctor"}, paths...)
		r := program(t, "strace", args...)
		if !strings.Contains(r.stdout, "processes,") {
			t.Fatalf("%s%s", r.stdout, r.stderr)
		}
		data, err := os.ReadFile(trace)
		must(t, err)
		if bad := touching(string(data)); len(bad) > 0 {
			t.Errorf("doctor %q:\n%s", paths, strings.Join(bad, "\n"))
		}
		if !strings.Contains(string(data), "openat(") {
			t.Errorf("nothing was traced")
		}
	}
}

// touching picks the calls that could change something out of a trace. Go's own
// threads wake each other by an eventfd and by a signal within the process.
func touching(trace string) []string {
	bad := regexp.MustCompile(`\b(flock\(|F_SETLK|F_OFD_SETLK|F_SETLEASE|kill\(|tkill\(|pidfd_send_signal|ptrace\(|open(at2?)?\(.*(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC)|` +
		`unlink(at)?\(|rename|mkdir(at)?\(|chmod|chown|truncate|utime|\blink(at)?\(|mknod|setxattr|p?write(v|64)?\()`)
	ours := regexp.MustCompile(`\bwrite\([12], |tgkill\(.*SIGURG\)|\bwrite\(\d+, "\\1\\0\\0\\0\\0\\0\\0\\0", 8(\)| <unf)|\breadlink(at)?\(|write resumed`)
	var found []string
	for line := range strings.Lines(trace) {
		if bad.MatchString(line) && !ours.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// The test above must see what it is there to see.
func TestTouchingSeesCalls(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`1 flock(3, LOCK_EX|LOCK_NB) = 0`,
		`1 fcntl(3, F_OFD_SETLK, {l_type=F_WRLCK}) = 0`,
		`1 openat(AT_FDCWD, "x", O_RDWR|O_CLOEXEC) = 3`,
		`1 kill(2, 0) = 0`,
		`1 write(3, "x", 1) = 1`,
		`1 unlinkat(AT_FDCWD, "x", 0) = 0`,
	} {
		if len(touching(line)) != 1 {
			t.Errorf("not seen: %s", line)
		}
	}
	for _, line := range []string{`1 write(1, "x", 1) = 1`, `1 fcntl(3, F_OFD_GETLK, {}) = 0`, `1 openat(AT_FDCWD, "x", O_RDONLY) = 3`, `1 write(6, "\1\0\0\0\0\0\0\0", 8 <unfinished ...>`} {
		if len(touching(line)) != 0 {
			t.Errorf("seen: %s", line)
		}
	}
}

// Another user sees what may be seen: the lock is held, by whom is not known, and
// how much is hidden is counted. Nothing sounds like free.
func TestDoctorUnprivileged(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	dir := dataDir(t)
	must(t, os.Chmod(dir, 0o755))
	hold(t, dir, "sleep", "600")
	lf := filepath.Join(filepath.Dir(dir), "lf")
	locked(t, lf)
	r, code := doctorReport(t, "nobody", "solehold", "doctor", lf, dir)
	if code == 0 {
		t.Error("exit code 0: something could not be seen")
	}
	for _, s := range r.Paths {
		if s.Path == lf && (s.State != "held" || s.Kind != "lock file") {
			t.Errorf("%+v", s)
		}
		if s.Path == dir && s.State != "HELD" && s.State != "UNKNOWN" {
			t.Errorf("%+v", s)
		}
	}
	if len(r.Gaps) == 0 || r.Gaps[0].Count == 0 || !strings.Contains(r.Gaps[0].Why, "no permission") {
		t.Errorf("%+v", r.Gaps)
	}
	for _, f := range r.Findings {
		if f.Severity != doctor.Notice {
			t.Errorf("%+v", f)
		}
	}
}

// Root without the right to look into processes can list their descriptors, and no
// more: then it is not known who has a lock, which must not sound like nobody.
func TestDoctorListedButNotSeen(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	testneed.Program(t, "setpriv", "apt-get install util-linux")
	lf := filepath.Join(filepath.Dir(dataDir(t)), "lf")
	locked(t, lf)
	r, code := doctorReport(t, "setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", "solehold", "doctor", lf)
	if code != 2 || len(r.Findings) > 0 || len(r.Paths) != 1 || r.Paths[0].State != "held" {
		t.Errorf("code %d, %+v", code, r)
	}
	if len(r.Gaps) != 1 || r.Gaps[0].Count == 0 || !strings.Contains(r.Gaps[0].Why, "no permission") {
		t.Errorf("%+v", r.Gaps)
	}
}

// Where /proc hides the processes of others, that is said.
func TestDoctorHidepid(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	testneed.Program(t, "unshare", "apt-get install util-linux")
	lf := filepath.Join(filepath.Dir(dataDir(t)), "lf")
	locked(t, lf)
	const script = `mount -t proc -o hidepid=2 proc /proc && exec nobody solehold doctor "$1" --json`
	r, code := doctorReport(t, "unshare", "--mount", "sh", "-c", script, "sh", lf)
	if code == 0 || !slices.ContainsFunc(r.Gaps, func(g doctor.Gap) bool { return strings.Contains(g.Why, "hidepid=") }) {
		t.Errorf("code %d, gaps %+v", code, r.Gaps)
	}
	if s := r.Paths[0]; s.State != "held" {
		t.Errorf("%+v", s)
	}
}

// A file system that does not answer costs its part of the time; the rest is told.
func TestDoctorWithHungMount(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	needFuse(t)
	dir, other := dataDir(t), dataDir(t)
	lf := filepath.Join(other, "lf")
	locked(t, lf)
	begin := time.Now()
	r, code := doctorReport(t, "hung", dir, "solehold", "doctor", "--timeout", "10s", dir, lf)
	if code != 2 {
		t.Errorf("code %d", code)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if !slices.ContainsFunc(r.Gaps, func(g doctor.Gap) bool { return g.NotRun && strings.Contains(g.What, dir) }) {
		t.Errorf("%+v", r.Gaps)
	}
	if s := r.Paths[1]; s.State != "held" || len(s.Holders) == 0 {
		t.Errorf("the rest is not told: %+v", r.Paths)
	}
}

// screen is a terminal of a size, on which a command runs.
type screen struct {
	master *os.File
	cmd    *exec.Cmd
}

// onScreen runs a command on a new terminal of 24 lines and 80 columns.
func onScreen(t testing.TB, args ...string) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	must(t, unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	s := &screen{master: master, cmd: exec.Command(args[0], args[1:]...)}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, s.cmd.Start())
	must(t, slave.Close())
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait(); master.Close() })
	return s
}

// The live view draws on the other screen, over itself and never wider than the
// terminal, and leaves the user's screen as it was.
func TestDoctorWatch(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := onScreen(t, "solehold", "doctor", "--watch", "10ms", dir)
	var text strings.Builder
	buf := make([]byte, 4096)
	for strings.Count(text.String(), "\x1b[H") < 3 {
		n, err := s.master.Read(buf)
		must(t, err)
		text.Write(buf[:n])
	}
	_, err := s.master.Write([]byte{3}) // Ctrl-C
	must(t, err)
	for {
		n, err := s.master.Read(buf)
		if n > 0 {
			text.Write(buf[:n])
		}
		if err != nil {
			break // EIO: everybody has closed the terminal
		}
	}
	must(t, s.cmd.Wait())
	all := text.String()
	if !strings.HasPrefix(all, "\x1b[?1049h\x1b[?25l\x1b[H") || !strings.HasSuffix(all, "\x1b[?25h\x1b[?1049l") {
		t.Errorf("%q", all)
	}
	if strings.Contains(all, "\x1b[2J") {
		t.Error("it clears the screen, which flickers")
	}
	for _, frame := range strings.Split(all, "\x1b[H")[1:] {
		lines := strings.Split(frame, "\r\n")
		if len(lines) > 24 {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines {
			line, _, _ = strings.Cut(line, "\x1b[K")
			if len([]rune(line)) > 80 {
				t.Errorf("%d columns: %q", len([]rune(line)), line)
			}
		}
	}
	if !strings.Contains(all, "no lock trouble found") {
		t.Errorf("%q", all)
	}
}
