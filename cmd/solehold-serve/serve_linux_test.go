package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// The lean binary starts its companion, which says where it listens, over TCP or a
// socket, and ends without a complaint when it is asked to.
func TestServe(t *testing.T) {
	t.Parallel()
	lean, _ := program(t)
	base := t.TempDir()
	dir := filepath.Join(base, "kb")
	must(t, os.Mkdir(dir, 0o755))
	for _, listen := range []string{"127.0.0.1:0", "unix:" + filepath.Join(t.TempDir(), "s")} {
		s := serve(t, lean, "serve", "--listen", listen, dir)
		s.until(t, "/?q="+url.QueryEscape(dir), dir)
	}
	hold(t, base)
	s := serve(t, lean, "serve", "--listen", "127.0.0.1:0", "--allow-host", "owners.example")
	s.until(t, "/dir?path="+url.QueryEscape(dir), "HELD")
}

// What cannot be served is said with the next step, under the code of its kind.
func TestCodes(t *testing.T) {
	t.Parallel()
	_, tool := program(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer busy.Close()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		code  int
		text  string
		words []string
	}{
		{64, "0.0.0.0:9321: not a loopback address", []string{"--listen", "0.0.0.0:9321"}},
		{64, "not an address", []string{"--listen", "9321"}},
		{64, "unknown flag: --no-such", []string{"--no-such"}},
		{64, "are more than nothing", []string{"--timeout", "-1s"}},
		{73, "another program listens there: address already in use", []string{"--listen", busy.Addr().String()}},
		{73, "there is something that is no socket", []string{"--listen", "unix:" + file}},
		{73, "cannot listen", []string{"--listen", "unix:" + filepath.Join(file, "s")}},
	} {
		out, err := exec.Command(tool, c.words...).CombinedOutput()
		end, ok := errors.AsType[*exec.ExitError](err)
		if !ok || end.ExitCode() != c.code || !strings.Contains(string(out), c.text) || !strings.Contains(string(out), "\n  next: ") {
			t.Errorf("%v: %v %s", c.words, err, out)
		}
	}
	if out, err := exec.Command(tool, "--help").CombinedOutput(); err != nil || !strings.Contains(string(out), "solehold serve --listen unix:") {
		t.Errorf("%v %s", err, out)
	}
}

// tracing is what would touch a directory: any lock, any file opened for more than
// reading, any change of a name, any signal.
const tracing = "trace=open,openat,openat2,creat,fcntl,flock,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,ftruncate,chmod,fchmod,fchmodat,chown,fchown,fchownat,utimensat,setxattr,fsetxattr,kill,tgkill,pidfd_send_signal"

// Nothing is touched beyond reading: by what the kernel was asked for while pages
// about held, free and damaged directories were shown. A planted violation is found.
func TestTouchesNothing(t *testing.T) {
	testneed.Program(t, "strace", "apt-get install strace")
	t.Parallel()
	_, tool := program(t)
	base := t.TempDir()
	held, free := filepath.Join(base, "held", "kb"), filepath.Join(base, "free")
	for _, dir := range []string{held, free} {
		must(t, os.MkdirAll(dir, 0o755))
		past(t, dir, 100)
	}
	must(t, os.WriteFile(filepath.Join(free, ".solehold", "lock"), []byte("damaged"), 0o600))
	hold(t, filepath.Dir(held))
	before := listing(t, base)
	trace := filepath.Join(t.TempDir(), "trace")
	s := serve(t, "strace", "-D", "-f", "-qq", "-o", trace, "-e", tracing, tool, "--listen", "127.0.0.1:0", "--examine", "1s", held, free)
	for _, dir := range []string{held, free} {
		s.until(t, "/", dir)
		for _, path := range []string{"/dir?path=", "/api/directory?path="} {
			s.get(t, path+url.QueryEscape(dir))
		}
	}
	for _, path := range []string{"/findings", "/waits", "/finding/SH030"} {
		s.get(t, path)
	}
	text, err := os.ReadFile(trace)
	must(t, err)
	if n := bytes.Count(text, []byte("\n")); n < 100 {
		t.Fatalf("only %d calls were seen", n)
	}
	for _, call := range touching(string(text)) {
		t.Error(call)
	}
	if after := listing(t, base); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	for _, planted := range []string{
		`7 openat(AT_FDCWD, "x", O_RDWR|O_CLOEXEC) = 3`, `7 fcntl(3, F_OFD_SETLK, {l_type=F_RDLCK}) = 0`, `7 flock(3, LOCK_SH) = 0`, `7 unlinkat(3, "lock", 0) = 0`,
		`7 pidfd_send_signal(3, SIGTERM, NULL, 0) = 0`, `7 openat(AT_FDCWD, "x", O_RDONLY|O_CREAT, 0600) = 3`, `7 kill(12, SIGTERM) = 0`,
	} {
		if len(touching(planted)) != 1 {
			t.Errorf("not found: %s", planted)
		}
	}
}

// touching finds the calls that do more than read. The signals that Go's runtime sends
// to its own threads are none, nor is a test of a descriptor, nor the signal 0, which
// only asks (os/exec does, before it starts journalctl).
func touching(trace string) (found []string) {
	read := regexp.MustCompile(`^\d+ +(open(at2?)?\(.*(O_RDONLY|O_PATH)|fcntl\(\d+, (F_GETFL|F_SETFL|F_GETFD|F_SETFD|F_DUPFD_CLOEXEC|F_OFD_GETLK|F_GETLK)|tgkill\(\d+, \d+, SIG(URG|0)|pidfd_send_signal\(\d+, 0,|[+-]{3})`)
	makes := regexp.MustCompile(`^\d+ +open.*O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)`)
	for line := range strings.Lines(trace) {
		if strings.Contains(line, "resumed>") || strings.Contains(line, "--- ") {
			continue
		}
		if !read.MatchString(line) || makes.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// listing is every file below a folder with what would change if it were touched.
func listing(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime())
		}
		return err
	}))
	return b.String()
}

// The size of a big host.
const (
	manyDirs   = 500
	manyEvents = 100_000
	perProcess = 20
)

// A big host: the page is small, and so is the memory of the program.
func TestBigHost(t *testing.T) {
	_, tool := program(t)
	base := t.TempDir()
	var dir string
	for i := range manyDirs {
		dir = filepath.Join(base, fmt.Sprintf("host%02d", i/perProcess), fmt.Sprintf("srv-kb-instance-%03d", i))
		must(t, os.MkdirAll(dir, 0o755))
		past(t, dir, manyEvents/manyDirs)
	}
	for i := range manyDirs / perProcess {
		hold(t, filepath.Join(base, fmt.Sprintf("host%02d", i)))
	}
	s := serve(t, tool, "--listen", "127.0.0.1:0")
	s.until(t, "/?q="+url.QueryEscape(dir), dir)
	page, first := s.get(t, "/?state=HELD&q="+url.QueryEscape(base))
	if n := strings.Count(page, "</a><td>"); n != manyDirs {
		t.Errorf("%d rows", n)
	}
	t.Logf("overview: %d bytes, first byte after %v", len(page), first)
	if len(page) > 300<<10 {
		t.Errorf("%d bytes", len(page))
	}
	for range 10 {
		for _, path := range []string{"/", "/api/overview", "/dir?path=" + url.QueryEscape(dir)} {
			s.get(t, path)
		}
	}
	_, first = s.get(t, "/dir?path="+url.QueryEscape(dir))
	t.Logf("directory: first byte after %v", first)
	status, err := os.ReadFile("/proc/" + strconv.Itoa(s.Process.Pid) + "/status")
	must(t, err)
	most := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if kb, err := strconv.Atoi(string(most[1])); err != nil || kb > 64<<10 {
		t.Errorf("%d kB at most, %v", kb, err)
	} else {
		t.Logf("%d kB at most", kb)
	}
	if wait := os.Getenv("SOLEHOLD_MEASURE"); wait != "" { // by hand: what a second costs
		measure(t, s)
	}
}

// measure logs the processor time of a minute, in which somebody asks once a second
// and nothing changes.
func measure(t *testing.T, s *served) {
	t.Helper()
	_, tick := s.get(t, "/")
	t.Logf("first byte %v", tick)
	before := ticks(t, s.Process.Pid)
	r, err := s.client.Get(s.base + "/events")
	must(t, err)
	defer r.Body.Close()
	cmd := exec.Command("sleep", "60")
	must(t, cmd.Run())
	t.Logf("%d hundredths of a second in 60s", ticks(t, s.Process.Pid)-before)
}

func ticks(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	must(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))
	user, _ := strconv.Atoi(fields[14-2])
	system, _ := strconv.Atoi(fields[15-2])
	return user + system
}
