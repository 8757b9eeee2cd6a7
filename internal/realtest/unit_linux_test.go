package realtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
	"github.com/solehold/solehold/internal/testsystemd"
	"golang.org/x/sys/unix"
)

// parts are the programs that this test binary is under other names.
func parts() map[string]func(args []string) {
	return map[string]func(args []string){"kb": kb, "words": printWords, "deaf": func([]string) { deaf() }}
}

// copyParts puts them beside solehold.
func copyParts(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	for name := range parts() {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// printWords writes its arguments into a file, one JSON text a line: words FILE ...
func printWords(args []string) {
	var b strings.Builder
	for _, a := range args[1:] {
		fmt.Fprintf(&b, "%x\n", a)
	}
	os.WriteFile(args[0]+".new", []byte(b.String()), 0o644)
	os.Rename(args[0]+".new", args[0])
}

// deaf is what a service leaves behind if it is let: it leaves its session and
// hears no request to end.
func deaf() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	unix.Setsid()
	fmt.Println("deaf")
	for {
		unix.Pause() // which the runtime's own signals end
	}
}

// kb is a service on an address; how it answers is in a file: kb ADDRESS FILE. It
// says in its directory that it is there, twice if it is there twice, and how
// often it was asked.
func kb(args []string) {
	dir := os.Getenv("SOLEHOLD_DIR")
	alone, err := os.OpenFile(filepath.Join(dir, "alone"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil || unix.Flock(int(alone.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		os.WriteFile(filepath.Join(dir, "OVERLAP"), nil, 0o600)
	}
	child := exec.Command(filepath.Join(filepath.Dir(os.Args[0]), "deaf"))
	out, _ := child.StdoutPipe()
	if child.Start() == nil {
		io.ReadFull(out, make([]byte, 5))
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	lives, _ := os.OpenFile(filepath.Join(dir, "lives"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	fmt.Fprintln(lives, "begun")
	asked, hung := 0, false
	http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		os.WriteFile(filepath.Join(dir, "asked"), []byte(strconv.Itoa(asked)), 0o600)
		how, _ := os.ReadFile(args[1])
		if hung = hung || string(how) == "hang"; hung {
			select {}
		}
		if string(how) == "sick" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	alone.Close()
}

// host is a systemd with a service kb, as `solehold unit` prints it.
type host struct {
	*testsystemd.Manager
	t    *testing.T
	base string
	dir  string
	mode string
	addr string
	unit []string // of `solehold unit`, without the verb
}

// newHost prepares one; boot starts it.
func newHost(t *testing.T) *host {
	t.Helper()
	base := t.TempDir()
	h := &host{t: t, base: base, dir: filepath.Join(base, "data"), mode: filepath.Join(base, "mode"), addr: fmt.Sprintf("127.0.0.1:%d", testneed.Port(t))}
	must(t, os.Mkdir(h.dir, 0o700))
	h.unit = []string{
		h.dir, "--health-http=http://" + h.addr + "/", "--health-period=1s", "--health-failure-threshold=2", "--min-failing=0s", "--grace=1s",
		"--", filepath.Join(filepath.Dir(tool), "kb"), h.addr, h.mode,
	}
	return h
}

// is chooses how the service answers.
func (h *host) is(mode string) {
	h.t.Helper()
	must(h.t, os.WriteFile(h.mode+".new", []byte(mode), 0o600))
	must(h.t, os.Rename(h.mode+".new", h.mode))
}

// boot starts a systemd that has the units, with a shorter watchdog than a person
// would want.
func (h *host) boot(bootID string) {
	h.t.Helper()
	kb := printed(h.t, append([]string{"systemd"}, h.unit...)...)
	fast := "[Service]\nWatchdogSec=6\nRestartSec=0\n"
	if bootID != "" {
		fast += "ProtectKernelTunables=no\n" // it would show the boot id of this machine
	}
	h.Manager = testsystemd.Boot(h.t, testsystemd.Options{
		Shared: []string{h.base, filepath.Dir(tool)}, BootID: bootID,
		Units: map[string]string{"kb.service": kb, "kb.service.d/fast.conf": fast},
	})
}

// printed is what `solehold unit` prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(tool, append([]string{"unit"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	must(t, err)
	return string(out)
}

// lives counts how often the service has begun.
func (h *host) lives() int {
	text, _ := os.ReadFile(filepath.Join(h.dir, "lives"))
	return strings.Count(string(text), "begun")
}

// event is what these tests want to know of one.
type event struct {
	Kind, Class, Detail, Signal string
	Token                       uint64
	PID                         int
	Seq                         int64
}

// history asks the tool, inside.
func (h *host) history(flags ...string) (all []event) {
	h.t.Helper()
	text := h.Do(slices.Concat([]string{tool, "history", "--json"}, flags, []string{h.dir})...)
	for line := range strings.Lines(text) {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil && e.Kind != "" {
			all = append(all, e)
		}
	}
	return all
}

// awaitKind waits for the n-th event of a kind.
func (h *host) awaitKind(kind string, n int) event {
	h.t.Helper()
	var found []event
	h.Until(fmt.Sprintf("%d %s", n, kind), func() bool {
		found = h.history("--kind=" + kind)
		return len(found) >= n
	})
	return found[n-1]
}

// left lists the processes of the service's group.
func (h *host) left() string {
	return strings.TrimSpace(h.Do("sh", "-c", `find /sys/fs/cgroup/system.slice/kb.service -name cgroup.procs -exec cat {} + 2>/dev/null || :`))
}

// alone fails if two lives have met.
func (h *host) alone() {
	h.t.Helper()
	if _, err := os.Stat(filepath.Join(h.dir, "OVERLAP")); err == nil {
		h.t.Error("two at once")
	}
}

// What `unit systemd` prints, below a real systemd: active means healthy, a stop
// leaves nothing, a kill of the main process is one restart, a hang ends by the
// watchdog after its evidence was saved, and a power cut is told as a reboot.
func TestSystemdService(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.is("sick")
	h.boot("")
	if out := h.Do("systemd-analyze", "verify", "/etc/systemd/system/kb.service"); strings.TrimSpace(out) != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	h.Do("systemctl", "start", "--no-block", "kb.service")
	h.Until("it was asked", func() bool { _, err := os.Stat(filepath.Join(h.dir, "asked")); return err == nil })
	if got := h.Show("kb.service", "ActiveState"); got != "activating" {
		t.Errorf("not healthy and %s", got)
	}
	h.is("well")
	h.Await("kb.service", "ActiveState", "active")
	if n := len(h.history("--kind=ready")); n != 1 {
		t.Errorf("%d times ready", n)
	}

	h.Do("systemctl", "stop", "kb.service")
	if left := h.left(); left != "" {
		t.Errorf("left after a stop: %s", left)
	}
	if got := h.Show("kb.service", "Result"); got != "success" {
		t.Errorf("a stop ends with %s", got)
	}
	h.Do("systemctl", "start", "kb.service")
	h.crash(t)
	h.hang(t)
	h.journal(t)
	h.reboot(t)
	h.alone()
}

// journal compares the two histories: the journal has the same events, each once,
// and says what they mean; the history says when one of them was changed.
func (h *host) journal(t *testing.T) {
	t.Helper()
	file := filepath.Join(h.dir, ".solehold", "history.jsonl")
	text, err := os.ReadFile(file)
	must(t, err)
	var want, got []string
	for line := range strings.Lines(string(text)) {
		want = append(want, strings.TrimSpace(line))
	}
	h.Until("the journal has all", func() bool {
		got = nil
		for line := range strings.Lines(h.Do("journalctl", "-q", "--no-pager", "-a", "-o", "json", "SOLEHOLD_DIR="+h.dir)) {
			var e struct {
				JSON string `json:"SOLEHOLD_JSON"`
				ID   string `json:"MESSAGE_ID"`
				Kind string `json:"SOLEHOLD_EVENT"`
			}
			must(t, json.Unmarshal([]byte(line), &e))
			got = append(got, e.JSON)
			if len(e.ID) != 32 || e.Kind == "" {
				t.Errorf("%s", line)
			}
		}
		return len(got) >= len(want)
	})
	if !slices.Equal(got[:len(want)], want) { // more may have come: the service lives
		t.Errorf("the journal has\n%s\nthe file has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	h.eachOnce(t, len(want))
	catalog, err := exec.Command("go", "run", "../mangen", h.base).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, catalog)
	}
	h.Do("sh", "-c", "mkdir -p /usr/lib/systemd/catalog && cp "+h.base+"/solehold.catalog /usr/lib/systemd/catalog/ && journalctl --update-catalog")
	if out := h.Do("journalctl", "-q", "--no-pager", "-x", "SOLEHOLD_DIR="+h.dir, "SOLEHOLD_EVENT=vanished"); !strings.Contains(out, "The data directory "+h.dir+": vanished") || !strings.Contains(out, "without any clean-up") {
		t.Errorf("the catalogue does not explain it: %s", out)
	}

	// The file loses an event: the history still has it, and says so.
	must(t, os.WriteFile(file, []byte(strings.Join(append(want[:1:1], want[2:]...), "\n")+"\n"), 0o600))
	out := h.Do(tool, "history", h.dir)
	if strings.Count(out, "\n") < len(want)+1 || !strings.Contains(out, " events are in systemd's journal only") {
		t.Errorf("%s", out)
	}
	must(t, os.WriteFile(file, text, 0o600))
	// Others cannot put events into it.
	h.Do("sh", "-c", `printf 'MESSAGE=x\nSOLEHOLD_DIR=%s\nSOLEHOLD_JSON=%s\n' "$1" "$2" >/tmp/forged && chmod 644 /tmp/forged && setpriv --reuid=65534 --clear-groups logger --journald=/tmp/forged`,
		"sh", h.dir, strings.Replace(want[0], `"seq":`, `"seq":9`, 1))
	h.Until("the forged one is left out", func() bool {
		return strings.Contains(h.Do(tool, "history", h.dir), "1 events of systemd's journal are left out")
	})
	h.eachOnce(t, len(want))
}

// eachOnce has nothing twice in the history, and nothing forged. It is n events long or longer by now: the service lives.
func (h *host) eachOnce(t *testing.T, n int) {
	t.Helper()
	all := h.history()
	if len(all) < n {
		t.Fatalf("%d events in the history, want %d", len(all), n)
	}
	forged := fmt.Sprintf("9%d", all[0].Seq)
	for i := 1; i < len(all); i++ {
		if all[i].Seq <= all[i-1].Seq || fmt.Sprint(all[i].Seq) == forged {
			t.Errorf("event %d follows on %d", all[i].Seq, all[i-1].Seq)
		}
	}
}

// crash kills the main process.
func (h *host) crash(t *testing.T) {
	t.Helper()
	before := h.lives()
	h.Do("systemctl", "kill", "--kill-who=main", "--signal=KILL", "kb.service")
	h.Await("kb.service", "NRestarts", "1")
	h.Await("kb.service", "ActiveState", "active")
	if e := h.awaitKind("vanished", 1); e.Class != "crash" {
		t.Errorf("%+v", e)
	}
	if h.lives() != before+1 {
		t.Errorf("%d lives after one crash", h.lives()-before)
	}
}

// hang lets it answer nothing.
func (h *host) hang(t *testing.T) {
	t.Helper()
	before := len(h.history("--kind=incident"))
	h.is("hang")
	saved := h.awaitKind("incident", before+1)
	h.is("well")
	h.Await("kb.service", "NRestarts", "2")
	h.Await("kb.service", "ActiveState", "active")
	end := h.awaitKind("child-exited", 2) // one by the stop before
	if saved.Seq == 0 || saved.Seq > end.Seq {
		t.Errorf("the evidence was not there first: %+v, %+v", saved, end)
	}
	if log := h.Do("journalctl", "--no-pager", "-u", "kb.service"); !strings.Contains(log, "Watchdog timeout") {
		t.Errorf("not by the watchdog: %s", log)
	}
}

// reboot cuts the power and starts another systemd on the same disk.
func (h *host) reboot(t *testing.T) {
	t.Helper()
	h.Kill()
	h.boot("11112222-3333-4444-8555-666677778888")
	h.Do("systemctl", "start", "kb.service")
	if e := h.awaitKind("vanished", 2); e.Class != "reboot" {
		t.Errorf("%+v", e)
	}
}

// The 13:20 story: a timer and a person start the same service in the same
// instant. One of them does; the other one leaves, and nothing tries again and
// again.
func TestSystemdTimerAndHand(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.boot("")
	files := strings.SplitN(printed(t, "timer", h.dir, "--unit=kb", "--health-http=http://"+h.addr+"/"), "# --- kb-watch.timer\n", 2)
	h.Write("/etc/systemd/system/kb-watch.service", files[0])
	h.Write("/etc/systemd/system/kb-watch.timer", files[1])
	// At once, and not five minutes later.
	h.Write("/etc/systemd/system/kb-watch.timer.d/now.conf", "[Timer]\nOnBootSec=\nOnUnitInactiveSec=\nOnActiveSec=1us\nAccuracySec=1us\n")
	if out := h.Do("systemd-analyze", "verify", "/etc/systemd/system/kb-watch.timer", "/etc/systemd/system/kb-watch.service"); strings.TrimSpace(out) != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	h.Do("systemctl", "daemon-reload")
	for round := range 4 {
		hand := h.Command(append([]string{tool, "run", "--held-exit=75", "--grace=1s", h.dir, "--"}, h.unit[len(h.unit)-3:]...)...)
		must(t, hand.Start())
		h.Do("systemctl", "start", "kb-watch.timer")
		h.Until("the watch has looked", func() bool {
			return h.Show("kb-watch.service", "ExecMainExitTimestampMonotonic") != "0" && h.Show("kb-watch.service", "ActiveState") != "activating"
		})
		h.Until("one has it", func() bool { return strings.Contains(h.Do("sh", "-c", tool+" status "+h.dir+" || :"), "HELD") })
		byUnit := h.Show("kb.service", "ActiveState") == "active"
		if byUnit {
			if err := hand.Wait(); hand.ProcessState.ExitCode() != 75 {
				t.Errorf("round %d: the unit has it, and the other one ended with %v", round, err)
			}
		}
		if n := h.Show("kb.service", "NRestarts"); n != "0" {
			t.Errorf("round %d: started again %s times", round, n)
		}
		if h.lives() != round+1 {
			t.Errorf("round %d: %d lives", round, h.lives())
		}
		h.Do(tool, "release", "--timeout=30s", h.dir)
		if !byUnit {
			hand.Wait()
		}
		h.Do("systemctl", "stop", "kb.service", "kb-watch.timer", "kb-watch.service")
		h.Do("sh", "-c", "systemctl reset-failed kb.service kb-watch.service 2>/dev/null || :")
		h.alone()
	}
}

// Arguments of all kinds reach the command as they were given, and paths of all
// kinds are the right ones, by systemd's own reading.
func TestSystemdWords(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	hostile := []string{
		"", " ", "a b", `"`, `'`, `a"b'c`, `\`, `\\`, `\n`, "a\nb", "\t", "%", "%%", "%n %i", "$", "$$", "$HOME", "${HOME}", "$(id)", "`id`", ";", " ; ", `\;`,
		"#", "# no", "[Service]", "ExecStart=/bin/false", "ümläut", "日本語", "🔒", "\x01\x7f", "a=b", "-", "--", "@", "~", "*", "?", "|", "&", "<>", "\u2028",
		"a\\", "\r", "\\x41", "%%n", strings.Repeat("x", 5000), "{", "!", "\v\f\a\b",
	}
	dir := filepath.Join(h.base, "da ta %n $HOME ü\"'\\")
	must(t, os.Mkdir(dir, 0o700))
	h.boot("")
	h.hears(t, "words", dir, hostile)
	// systemd passes bytes on that are no text, and cannot show such a unit any more.
	h.hears(t, "bytes", dir, []string{"\xff\xfe", "a\xef", "\xef\xbf\xbd"})
	for _, setting := range []string{"RequiresMountsFor", "ReadWritePaths"} {
		if shown := h.Do("systemctl", "show", "-p", setting, "words.service"); !strings.Contains(shown, `/da ta %n \$HOME ü\"'\\`) {
			t.Errorf("%s, want %s", shown, dir)
		}
	}
}

// hears checks that a service gets its arguments as they were given to `unit`.
func (h *host) hears(t *testing.T, name, dir string, words []string) {
	t.Helper()
	out := filepath.Join(dir, name)
	command := append([]string{"systemd", "--unit=" + name, dir, "--", filepath.Join(filepath.Dir(tool), "words"), out}, words...)
	file := "/etc/systemd/system/" + name + ".service"
	h.Write(file, printed(t, command...))
	if said := h.Do("systemd-analyze", "verify", file); strings.TrimSpace(said) != "" {
		t.Errorf("systemd-analyze verify: %s", said)
	}
	h.Do("systemctl", "daemon-reload")
	h.Do("systemctl", "start", name)
	h.Until("it has written them", func() bool { _, err := os.Stat(out); return err == nil })
	got, err := os.ReadFile(out)
	must(t, err)
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	if len(lines) != len(words) {
		t.Errorf("%d words, want %d", len(lines), len(words))
	}
	for i := range min(len(lines), len(words)) {
		if want := fmt.Sprintf("%x", words[i]); lines[i] != want {
			t.Errorf("word %d is %s, want %s (%q)", i, lines[i], want, words[i])
		}
	}
}

// A directory that is missing is made where it is to lie, and one that is there stays
// with the user who has it.
func TestSystemdMakesDirectory(t *testing.T) {
	t.Parallel()
	m := testsystemd.Boot(t, testsystemd.Options{Shared: []string{filepath.Dir(tool)}})
	const ours, there = "/usr/local/bin/solehold", "/var/lib/there"
	m.Do("cp", tool, ours) // a service with a /tmp of its own sees no other
	m.Do("sh", "-ec", "mkdir $1; touch $1/file; chown -R 1234 $1; chmod 755 $1", "sh", there)
	for _, words := range [][]string{{there}, {"/srv/made", "--create"}, {"/var/lib/made-too", "--create"}} {
		dir, name := words[0], filepath.Base(words[0])
		m.Write("/etc/systemd/system/"+name+".service", printed(t, slices.Concat([]string{"systemd", "--solehold=" + ours, "--unit=" + name}, words, []string{"--", "/bin/sleep", "1000"})...))
		m.Do("systemctl", "daemon-reload")
		m.Do("systemctl", "start", name)
		m.Until(dir+" has its owner", func() bool { return m.Command(ours, "status", dir).Run() == nil })
	}
	if got := m.Do("stat", "-c", "%u %a", there, there+"/file"); got != "1234 755\n1234 644\n" {
		t.Errorf("%s was taken from its user: %s", there, got)
	}
}

// docs/adopt/systemd.md, done as it is written: each block of commands ends well and
// prints the lines that the page shows. Numbers there are examples, … is anything.
func TestSystemdPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/adopt/systemd.md")
	must(t, err)
	h := newHost(t)
	h.Manager = testsystemd.Boot(t, testsystemd.Options{Shared: []string{filepath.Dir(tool)}})
	h.Do("cp", tool, "/usr/local/bin/solehold") // a service with a /tmp of its own sees no other
	blocks := regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 4 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for i := 0; i < len(blocks); i += 2 {
		if i > 0 { // a person is slower than this: by then the program has been started
			h.Do("sh", "-euc", "until /usr/local/bin/solehold history /var/lib/kb | grep -q child-started; do sleep 0.05; done")
		}
		out := h.Do("sh", "-euc", "cd /\nPATH=/usr/local/bin:$PATH\n"+blocks[i][2])
		for line := range strings.Lines(blocks[i+1][2]) {
			pattern := regexp.QuoteMeta(strings.TrimSuffix(line, "\n"))
			pattern = regexp.MustCompile(`\d+`).ReplaceAllString(strings.ReplaceAll(pattern, "…", ".*"), `\d+`)
			if !regexp.MustCompile("(?m)^" + pattern + "$").MatchString(out) {
				t.Errorf("no line %q in\n%s", line, out)
			}
		}
	}
}
