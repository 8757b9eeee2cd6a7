package service_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/solehold/solehold/internal/service"
	"github.com/solehold/solehold/internal/testneed"
)

// job is a service with hostile arguments.
func job(words ...string) service.Job {
	return service.Job{
		Name: "kb", Dir: "/srv/kb & <co>", HeldExit: 75, Grace: 30 * time.Second,
		Command: append([]string{"/usr/bin/solehold", "run", "/srv/kb & <co>", "--"}, words...),
	}
}

func hostile() []string {
	return []string{
		"", " ", "a b", `"`, `""`, `'`, `a"b'c`, `\`, `\\`, `\"`, `a\`, `a b\`, `a b\\`, `\\"`, "a\nb", "\t", "\r", "\r\n", "$HOME", "`id`", ";", "<x>", "&amp;", "]]>", "<!--", "-->",
		"ümläut", "日本語", "🔒", "=", "--", "‘", "’", "@", " lead", "trail ",
	}
}

func files(t *testing.T, j service.Job, k service.Kind) []service.File {
	t.Helper()
	f, err := j.Files(k)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// python runs a program that reads a text and answers in JSON.
func python(t *testing.T, program string, text []byte, answer any) {
	t.Helper()
	c := exec.Command(testneed.Program(t, "python3", "apt-get install python3"), "-c", program)
	c.Stdin = bytes.NewReader(text)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, answer)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// A property list says what was given, to the parser of somebody else.
func TestLaunchd(t *testing.T) {
	const read = `import json,plistlib,sys; json.dump(plistlib.loads(sys.stdin.buffer.read()),sys.stdout)`
	var got struct {
		ProgramArguments    []string
		KeepAlive           map[string]bool
		RunAtLoad           bool
		ExitTimeOut         int
		StartInterval       int
		Label               string
		AbandonProcessGroup *bool
		StandardErrorPath   string
	}
	j := job(hostile()...)
	python(t, read, files(t, j, service.Launchd)[0].Bytes(), &got)
	if !slices.Equal(got.ProgramArguments, j.Command) {
		t.Errorf("%q\nwant %q", got.ProgramArguments, j.Command)
	}
	if again, said := got.KeepAlive["SuccessfulExit"]; !said || again {
		t.Errorf("KeepAlive is %v: a start that is turned away would come again for ever", got.KeepAlive)
	}
	if got.ExitTimeOut <= 30 || got.AbandonProcessGroup == nil || *got.AbandonProcessGroup || got.StartInterval != 0 {
		t.Errorf("%+v", got)
	}
	j.Every, j.Session, j.Home = 5*time.Minute, true, "/Users/you"
	got.KeepAlive = nil
	python(t, read, files(t, j, service.Launchd)[0].Bytes(), &got)
	if got.StartInterval != 300 || got.KeepAlive != nil || got.Label != "kb.watch" || got.StandardErrorPath != "/Users/you/Library/Logs/kb.watch.log" {
		t.Errorf("%+v", got)
	}
}

// A task is UTF-16 with its mark, and says what was given.
func TestTask(t *testing.T) {
	const read = `import json,sys,xml.etree.ElementTree as E
n='{http://schemas.microsoft.com/windows/2004/02/mit/task}'
r=E.fromstring(sys.stdin.buffer.read())
json.dump({e.tag.replace(n,''):e.text for e in r.iter() if len(e)==0},sys.stdout)`
	j := job(hostile()...)
	text := files(t, j, service.Task)[0].Bytes()
	if !bytes.HasPrefix(text, []byte{0xFF, 0xFE}) || len(text)%2 != 0 {
		t.Errorf("not UTF-16: % x", text[:8])
	}
	var got map[string]string
	python(t, read, text, &got)
	if args := unquoted(got["Arguments"]); got["Command"] != j.Command[0] || !slices.Equal(args, j.Command[1:]) {
		t.Errorf("%q\nwant %q", args, j.Command[1:])
	}
	for key, want := range map[string]string{
		"MultipleInstancesPolicy": "IgnoreNew", "ExecutionTimeLimit": "PT0S", "DisallowStartIfOnBatteries": "false", "StopIfGoingOnBatteries": "false",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	j.Every = 5 * time.Minute
	python(t, read, files(t, j, service.Task)[0].Bytes(), &got)
	if got["Interval"] != "PT300S" || got["ExecutionTimeLimit"] == "PT0S" {
		t.Errorf("%v", got)
	}
}

// unquoted takes a command line apart as Windows programs do.
func unquoted(line string) []string {
	var words []string
	for i := 0; i < len(line); {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		var w []byte
		for quoted := false; i < len(line) && (quoted || line[i] != ' '); i++ {
			slashes := 0
			for ; i < len(line) && line[i] == '\\'; i++ {
				slashes++
			}
			switch {
			case i < len(line) && line[i] == '"':
				w = append(w, strings.Repeat(`\`, slashes/2)...)
				if slashes%2 == 1 {
					w = append(w, '"')
				} else {
					quoted = !quoted
				}
			default:
				w = append(w, strings.Repeat(`\`, slashes)...)
				i--
				if slashes == 0 {
					i++
					w = append(w, line[i])
				}
			}
		}
		words = append(words, string(w))
	}
	return words
}

// A service of Windows has its whole command line in one word of PowerShell.
func TestWindowsService(t *testing.T) {
	j := job(hostile()...)
	f := files(t, j, service.WinSvc)[0]
	if text := f.Bytes(); !bytes.HasPrefix(text, []byte("\uFEFF")) || !bytes.Contains(text, []byte("\r\n")) {
		t.Errorf("%q", text[:20])
	}
	_, rest, ok := strings.Cut(f.Text, "-BinaryPathName '")
	rest, _, end := strings.Cut(rest, "'\n# Later than")
	line := strings.NewReplacer("''", "'", "‘‘", "‘", "’’", "’").Replace(rest)
	if got := unquoted(line); !ok || !end || !slices.Equal(got, j.Command) {
		t.Errorf("%q\nwant %q", got, j.Command)
	}
	if strings.Count(f.Text, "sc.exe failureflag 'kb' 1") != 1 {
		t.Error("an exit code would be no failure")
	}
}

// What cannot be told to a manager is an error, and not something else.
func TestRefusedDefinitions(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		kind service.Kind
		name string
		word string
		want string
	}{
		{service.Systemd, "kb", long, "too long"},
		{service.Systemd, "kb", "a\x00b", "zero byte"},
		{service.Systemd, "", "x", "cannot name"},
		{service.Systemd, "../kb", "x", "cannot name"},
		{service.Systemd, "k b", "x", "cannot name"},
		{service.Systemd, "-kb", "x", "cannot name"},
		{service.Systemd, ".kb", "x", "cannot name"},
		{service.Launchd, "kb", "\x01", "cannot carry"},
		{service.Launchd, "kb", "\xff", "cannot carry"},
		{service.Task, "kb", "\x1b[2J", "cannot carry"},
		{service.Task, "kb", "%PATH%", "something else"},
		{service.Task, "kb", "$(Arg0)", "something else"},
		{service.WinSvc, "kb", "%PATH%", "something else"},
		{"cron", "kb", "x", "no kind"},
	} {
		j := job(c.word)
		j.Name = c.name
		if _, err := j.Files(c.kind); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q %.20q: %.80v, want %s", c.kind, c.name, c.word, err, c.want)
		}
	}
	for _, c := range []struct {
		kind    service.Kind
		user    string
		session bool
		want    string
	}{
		{service.Systemd, "root\nExecStartPre=/bin/false", false, "no name of a user"},
		{service.Systemd, "kb", true, "starts nothing as another one"},
		{service.Launchd, "kb", true, "starts nothing as another one"},
		{service.WinSvc, "kb", false, "gets its user with a password"},
	} {
		j := job("x")
		j.User, j.Session = c.user, c.session
		if _, err := j.Files(c.kind); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %q: %v, want %s", c.kind, c.user, err, c.want)
		}
	}
}

// A directory whose name no setting can carry leaves that setting out, with a
// word about it; nothing of a name becomes a setting.
func TestNoSettingFromAName(t *testing.T) {
	j := job("x")
	j.Dir = "/srv/a\nExecStartPre=/bin/false"
	text := files(t, j, service.Systemd)[0].Text
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ExecStartPre") || strings.HasPrefix(line, "RequiresMountsFor") {
			t.Errorf("%s", line)
		}
	}
	if !strings.Contains(text, "# RequiresMountsFor= is left out") {
		t.Error("it is not said")
	}
}

// Only what is to be made is given to systemd to make: that takes a directory that
// is there, and all in it, from the user who has it.
func TestMadeDirectory(t *testing.T) {
	j := job("x")
	for dir, want := range map[string]string{
		"/var/lib/kb": "StateDirectory=kb\n", "/var/lib/kb/data": "StateDirectory=kb/data\n",
		"/var/lib/private/kb": "ReadWritePaths=/var/lib/private\n", "/var/lib/a b": "ReadWritePaths=/var/lib\n", "/srv/kb": "ReadWritePaths=/srv\n", "/tmp/kb": "PrivateTmp=no\n",
	} {
		j.Dir, j.Creates = dir, true
		text := files(t, j, service.Systemd)[0].Text
		if !strings.Contains(text, "\n"+want) || strings.Contains(text, "StateDirectory=") != strings.HasPrefix(want, "StateDirectory") {
			t.Errorf("%s is made, want %s in\n%s", dir, want, text)
		}
		j.Creates = false
		if strings.Contains(dir, " ") {
			dir = `"` + dir + `"`
		}
		text = files(t, j, service.Systemd)[0].Text
		if strings.Contains(text, "StateDirectory") || !strings.Contains(text, "\nReadWritePaths="+dir+"\n") {
			t.Errorf("%s is there:\n%s", dir, text)
		}
	}
}

// Nothing is written over, nothing foreign is removed, and half a definition is
// none.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	j := job("x")
	j.Every = time.Minute
	two := files(t, j, service.Timer)
	written, err := service.Install(dir, two)
	if err != nil || len(written) != 2 {
		t.Fatal(written, err)
	}
	if written, err = service.Install(dir, two); err != nil || len(written) != 0 {
		t.Errorf("the same again: %v, %v", written, err)
	}
	last := filepath.Join(dir, two[1].Name)
	must(t, os.WriteFile(last, []byte("mine\n"), 0o600))
	must(t, os.Remove(filepath.Join(dir, two[0].Name)))
	var other *service.DifferentError
	if _, err = service.Install(dir, two); !errors.As(err, &other) || other.Path != last || string(other.There) != "mine\n" || string(other.Wanted) != two[1].Text {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("written beside it: %v", left)
	}
	var foreign *service.ForeignError
	if _, err = service.Uninstall(dir, two); !errors.As(err, &foreign) {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(last))
	must(t, os.Symlink(os.DevNull, last))
	if _, err = service.Install(dir, two); !errors.As(err, &other) || !other.Masked {
		t.Errorf("masked: %v", err)
	}
}

// A link that leads nowhere is somebody else's: nothing is written through it, it
// is not said to be written, and it is not removed.
func TestLinkToNowhere(t *testing.T) {
	dir := t.TempDir()
	all := files(t, job("x"), service.Systemd)
	path := filepath.Join(dir, all[0].Name)
	must(t, os.Symlink(filepath.Join(dir, "gone"), path))
	if written, err := service.Install(dir, all); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("written %v, %v", written, err)
	}
	if removed, err := service.Uninstall(dir, all); err != nil || len(removed) != 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

func TestUninstall(t *testing.T) {
	for _, kind := range []service.Kind{service.Systemd, service.Launchd, service.Task, service.WinSvc} {
		dir := filepath.Join(t.TempDir(), "[a") // no pattern
		must(t, os.Mkdir(dir, 0o755))
		all := files(t, job("x"), kind)
		path := filepath.Join(dir, all[0].Name)
		if removed, err := service.Uninstall(dir, all); err != nil || len(removed) != 0 {
			t.Errorf("%s: nothing there: %v %v", kind, removed, err)
		}
		if _, err := service.Install(dir, all); err != nil {
			t.Fatal(err)
		}
		must(t, os.Mkdir(filepath.Join(dir, "x.wants"), 0o755))
		must(t, os.Symlink(path, filepath.Join(dir, "x.wants", all[0].Name)))
		var foreign *service.ForeignError
		if _, err := service.Uninstall(dir, all); !errors.As(err, &foreign) {
			t.Errorf("%s: enabled: %v", kind, err)
		}
		must(t, os.RemoveAll(filepath.Join(dir, "x.wants")))
		if removed, err := service.Uninstall(dir, all); err != nil || !slices.Equal(removed, []string{path}) {
			t.Errorf("%s: %v %v", kind, removed, err)
		}
	}
}

// The difference is shown as text, whatever a manager wants to read.
func TestDifferenceIsText(t *testing.T) {
	dir := t.TempDir()
	a, b := files(t, job("a"), service.Task), files(t, job("b"), service.Task)
	if _, err := service.Install(dir, a); err != nil {
		t.Fatal(err)
	}
	var other *service.DifferentError
	if _, err := service.Install(dir, b); !errors.As(err, &other) || string(other.There) != a[0].Text || string(other.Wanted) != b[0].Text {
		t.Errorf("%v", err)
	}
	var units []uint16
	for i := 2; i < len(a[0].Bytes()); i += 2 {
		units = append(units, uint16(a[0].Bytes()[i])|uint16(a[0].Bytes()[i+1])<<8)
	}
	if got := strings.ReplaceAll(string(utf16.Decode(units)), "\r\n", "\n"); got != a[0].Text {
		t.Errorf("%q", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
