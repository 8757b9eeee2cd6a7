//go:build !solehold_portable

package supervise_test

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/journal"
)

// keep makes the wrapper stand between the command and the reader.
func keep(command ...string) []string {
	return append([]string{"--output", "keep", "--restart", "on-failure", "--restart-delay", "0s"}, command...)
}

// flood writes so many bytes that only their hash is worth keeping, in pieces of
// all sizes: flood MEGABYTES. Each write that is not whole within two seconds is
// told on standard error.
func flood(args []string) {
	n, _ := strconv.Atoi(args[0])
	random := rand.NewChaCha8([32]byte{7})
	var sum hash.Hash = sha256.New()
	for left := n << 20; left > 0; {
		piece := make([]byte, min(left, 1+int(random.Uint64()%20000)))
		random.Read(piece)
		sum.Write(piece)
		begun := time.Now()
		if _, err := os.Stdout.Write(piece); err != nil {
			fmt.Fprintln(os.Stderr, "flood:", err)
			os.Exit(5)
		}
		if took := time.Since(begun); took > 2*time.Second {
			fmt.Fprintln(os.Stderr, "flood: blocked for", took)
		}
		left -= len(piece)
	}
	fmt.Fprintf(os.Stderr, "flood: %x\n", sum.Sum(nil))
}

// piped makes standard output a pipe of the test's own.
func piped(t *testing.T) (*os.File, how) {
	t.Helper()
	from, to, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { from.Close(); to.Close() })
	return from, func(c *exec.Cmd) {
		c.Stdout = to
	}
}

// started closes the test's end of what the command writes to.
func (r *running) started() *running {
	r.cmd.Stdout.(*os.File).Close()
	return r
}

func soak(full int) int {
	percent, err := strconv.Atoi(os.Getenv("SOLEHOLD_SOAK"))
	if err != nil || percent < 1 {
		percent = 10
	}
	return max(1, full*percent/100)
}

func TestOutputIsUnchanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	from, to := piped(t)
	r := s.run([]how{to}, keep("--", self(t), "flood", itoa(soak(100)))...).started()
	sum := sha256.New()
	n, err := io.Copy(sum, from)
	must(t, err)
	r.exits(0)
	if want := fmt.Sprintf("flood: %x", sum.Sum(nil)); n != int64(soak(100))<<20 || !strings.Contains(r.errs.all(), want) {
		t.Errorf("%d bytes, %s, want %s", n, want, r.errs.all())
	}
}

// One pipe for both keeps the order of the lines.
func TestOrderOfOutputAndErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	from, to := piped(t)
	r := s.sh([]how{to, func(c *exec.Cmd) { c.Stderr = c.Stdout }}, `i=0; while [ $i -lt 500 ]; do echo $i; echo $((i+1)) >&2; i=$((i+2)); done`, keep()...).started()
	text, err := io.ReadAll(from)
	must(t, err)
	r.exits(0)
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line != itoa(i) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
}

// A terminal and a regular file are the command's own; a pipe is ours.
func TestTerminalsAndFilesStayTheCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file, err := os.Create(s.path("log"))
	must(t, err)
	defer file.Close()
	master, slave := openTerminal(t)
	defer master.Close()
	defer slave.Close()
	r := s.run([]how{func(c *exec.Cmd) { c.Stdout, c.Stderr = file, slave }}, keep("--", "sleep", "1000")...)
	for fd, want := range map[int]string{1: file.Name(), 2: slave.Name()} {
		if got, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", leader(r), fd)); got != want {
			t.Errorf("descriptor %d of the command is %s, %v", fd, got, err)
		}
	}
	r.signal(syscall.SIGTERM)
	r.wait()
}

// Nobody who does not read holds the service up for long, and what he missed is
// told where it is missing.
func TestReaderThatStops(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	from, to := piped(t)
	r := s.run([]how{to}, keep("--", self(t), "flood", "2")...).started()
	if text := r.errs.await("flood: ", 1); strings.Contains(text, "blocked") {
		t.Error(text)
	}
	text, err := io.ReadAll(from)
	must(t, err)
	r.exits(0)
	if len(text) > 1<<20 {
		t.Errorf("%d bytes were kept for nobody", len(text))
	}
}

// What is missing is told where it is missing, and the telling blocks nobody: it
// takes the room of a page, and what follows finds none.
func TestGapIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	from, to := piped(t)
	r := s.sh([]how{to}, `head -c 1000000 /dev/zero; echo over >&2; while [ ! -e go ]; do sleep 0.01; done; head -c 1000000 /dev/zero; echo gone >&2; exec sleep 1000`, keep()...).started()
	r.errs.await("over", 1) // nobody has read anything
	page := make([]byte, 4096)
	_, err := io.ReadFull(from, page)
	must(t, err)
	must(t, os.WriteFile(s.path("go"), nil, 0o600))
	r.errs.await("gone", 1)
	got, read := len(page), make([]byte, 1<<20)
	var rest []byte
	note := regexp.MustCompile(`\nsolehold: (\d+) bytes of output are missing here: nobody read them\n`)
	for note.Find(rest) == nil {
		n, err := from.Read(read)
		must(t, err)
		rest = append(rest, read[:n]...)
	}
	m := note.FindSubmatchIndex(rest)
	missing, _ := strconv.Atoi(string(rest[m[2]:m[3]]))
	const underway = 64 << 10 // may be in the command's pipe still, for "over" goes another way
	if got += m[0] + missing; got < 1000000-underway || got >= 2000000 {
		t.Errorf("%d bytes are accounted for by the first gap", got)
	}
	r.signal(syscall.SIGTERM)
	r.wait()
}

// A reader that goes away is told to the command, not to the wrapper.
func TestReaderThatGoes(t *testing.T) {
	t.Parallel()
	for command, code := range map[string]syscall.Signal{"yes": syscall.SIGPIPE} {
		s := newSite(t)
		from, to := piped(t)
		r := s.run([]how{to}, "--output", "keep", "--health-exec", "true", "--", command).started()
		_, err := io.ReadFull(from, make([]byte, 100))
		must(t, err)
		from.Close()
		r.dies(code)
		s.free()
	}
}

// Nor is the wrapper's own word to a reader who has gone its end.
func TestMessagesToNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	from, to := piped(t)
	r := s.sh([]how{to, func(c *exec.Cmd) { c.Stderr = c.Stdout }}, `echo life >>lives; [ $(wc -l <lives) = 3 ] && exit 9 || exit 3`,
		"--restart", "on-failure", "--restart-max", "2", "--restart-delay", "0s").started()
	from.Close()
	r.exits(gaveUp)
}

// Keeping the end of a flood costs what is kept and no more.
func TestFloodCostsNoMemory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	from, to := piped(t)
	r := s.sh([]how{to}, `yes "a line of the log, as long as lines are" | head -c 50000000; echo flooded >&2; exec sleep 1000`, keep()...).started()
	go io.Copy(io.Discard, from)
	r.errs.await("flooded", 1)
	own := field(t, "/proc/"+itoa(r.pid())+"/smaps_rollup", "Anonymous:")
	t.Logf("%d KiB after 50 MB", own)
	if own > 12<<10 {
		t.Error("that is too much")
	}
	r.signal(syscall.SIGTERM)
	r.wait()
}

// The end of the output is evidence, whatever it went to.
func TestEndOfOutputIsInTheIncident(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"pipe", "file", "appended file"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			hows := []how{}
			if where != "pipe" {
				mode := os.O_CREATE | os.O_WRONLY
				if where == "appended file" {
					mode |= os.O_APPEND
				}
				f, err := os.OpenFile(s.path("log"), mode, 0o600)
				must(t, err)
				defer f.Close()
				hows = append(hows, func(c *exec.Cmd) { c.Stdout = f })
			}
			r := s.sh(hows, `echo its last words; exec sleep 1000`, "--health-exec", "false", "--health-period", "1s",
				"--health-failure-threshold", "1", "--on-unhealthy", "report", "--output", "auto")
			id, _, _ := strings.Cut(s.await(journal.Incident, 1).Detail, ":")
			text, err := os.ReadFile(s.dir + "/.solehold/incidents/" + id + "/output.txt")
			if err != nil || !strings.Contains(string(text), "its last words") {
				t.Errorf("%q, %v", text, err)
			}
			r.signal(syscall.SIGTERM)
			r.wait()
		})
	}
}
