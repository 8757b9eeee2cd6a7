package cli_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/diagnose/overview"
	"golang.org/x/sys/unix"
)

// await reads on until the screen has been told a text, and returns all since the
// last call.
func (s *screen) await(t testing.TB, text string) string {
	t.Helper()
	var all bytes.Buffer
	buf := make([]byte, 4096)
	for !strings.Contains(all.String(), text) {
		n, err := s.master.Read(buf)
		if err != nil {
			t.Fatalf("no %q: %v\n%q", text, err, all.String())
		}
		all.Write(buf[:n])
	}
	return all.String()
}

func (s *screen) types(t testing.TB, keys string) {
	t.Helper()
	_, err := s.master.WriteString(keys)
	must(t, err)
}

// cooked reports whether the terminal collects lines, echoes, and makes signals of keys.
func (s *screen) cooked(t testing.TB) bool {
	t.Helper()
	const all = unix.ICANON | unix.ECHO | unix.ISIG
	is, err := unix.IoctlGetTermios(int(s.master.Fd()), unix.TCGETS)
	must(t, err)
	return is.Lflag&all == all
}

// In a terminal it finds what is held without being told, filters, sorts and scrolls
// by keys, follows the size of the terminal, and leaves all as it was.
func TestTopOnScreen(t *testing.T) {
	t.Parallel()
	dir, other := dataDir(t), filepath.Join(dataDir(t), "other")
	hold(t, dir, "sleep", "300")
	s := onScreen(t, "solehold", "top", "--every", "50ms", "--sort", "directory", other)
	s.await(t, "q quit")
	if s.cooked(t) {
		t.Error("keys wait for the end of a line")
	}
	s.types(t, "/"+filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(dir))
	s.await(t, "_   (Enter keeps it")
	s.types(t, "\r")
	frame := s.await(t, "Esc drops it\x1b[K\x1b[J")
	frame = frame[strings.LastIndex(frame, "\x1b[H"):]
	if lines := strings.Split(frame, "\r\n"); len(lines) != 24 || !strings.Contains(lines[0], " director") {
		t.Errorf("%q", lines)
	}
	s.types(t, "\x1b")
	s.await(t, "/ filter\x1b[K")
	s.types(t, "s")
	s.await(t, "s sort: since")
	must(t, unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 5, Col: 30}))
	var lines []string
	for len(lines) != 5 {
		picture := s.await(t, "\x1b[J")
		lines = strings.Split(picture[strings.LastIndex(picture, "\x1b[H")+len("\x1b[H"):], "\r\n")
	}
	for _, line := range lines {
		if line, _, _ = strings.Cut(line, "\x1b[K"); len([]rune(strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(line))) > 30 {
			t.Errorf("too wide: %q", line)
		}
	}
	s.types(t, "q")
	rest := s.await(t, "\x1b[?25h\x1b[?1049l")
	if strings.Contains(rest, "\x1b[2J") {
		t.Error("it clears the screen, which flickers")
	}
	must(t, s.cmd.Wait())
	if !s.cooked(t) {
		t.Error("it stays raw")
	}
}

// A signal ends it as a key does: the terminal is left as it was.
func TestTopIsTerminated(t *testing.T) {
	t.Parallel()
	s := onScreen(t, "solehold", "top", "--every", "1h")
	s.await(t, "q quit")
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.await(t, "\x1b[?25h\x1b[?1049l")
	must(t, s.cmd.Wait())
	if !s.cooked(t) {
		t.Error("it stays raw")
	}
}

// Without a terminal it is a plain table, once; in JSON all of it.
func TestTopPlain(t *testing.T) {
	t.Parallel()
	dir, missing := dataDir(t), filepath.Join(dataDir(t), "missing")
	hold(t, dir, "sleep", "300")
	r := program(t, "solehold", "top", "--filter", dir)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if r.code != 0 || len(lines) != 3 || !strings.HasPrefix(lines[2], "HELD ") || !strings.Contains(lines[2], "sleep 300") || strings.Contains(r.stdout, "\x1b") {
		t.Errorf("%+v", r)
	}
	r = program(t, "solehold", "top", "--json", "--sort", "directory", missing)
	var h overview.Host
	must(t, json.Unmarshal([]byte(r.stdout), &h))
	if d, ok := h.Find(missing); r.code != 0 || !ok || d.Problem == nil || d.Problem.Kind != overview.Vanished {
		t.Errorf("%d %+v", r.code, d)
	}
	if d, ok := h.Find(dir); !ok || d.State != "HELD" || d.Owner == nil {
		t.Errorf("%+v", d)
	}
	for _, args := range [][]string{{"--every", "0s"}, {"--sort", "beauty"}, {"--every", "-1s"}} {
		if r := program(t, "solehold", append([]string{"top"}, args...)...); r.code != 64 || !strings.Contains(r.stderr, "next: see solehold top --help") {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
