package lab_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// player is an actor that a test gives orders.
type player struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	life *os.File // its end tells the children of the actor to end
}

// said is an answer as it goes over the pipe.
type said struct {
	Text, Error string
	Errno       syscall.Errno
	Held        bool
}

func play(t *testing.T, how ...func(*exec.Cmd)) *player {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	r, life, err := os.Pipe()
	must(t, err)
	defer r.Close()
	p := &player{t: t, cmd: exec.Command(path, "lab", "role", "actor"), life: life}
	p.cmd.ExtraFiles, p.cmd.Stderr = []*os.File{r, os.Stderr}, os.Stderr
	for _, change := range how {
		change(p.cmd)
	}
	p.in, err = p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	p.out = json.NewDecoder(out)
	must(t, p.cmd.Start())
	t.Cleanup(func() {
		life.Close()
		p.in.Close()
		if err := p.cmd.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
			t.Errorf("an actor ends with %v", err)
		}
	})
	return p
}

func (p *player) ask(order ...string) (s said) {
	p.t.Helper()
	must(p.t, json.NewEncoder(p.in).Encode(order))
	must(p.t, p.out.Decode(&s))
	return s
}

// wants asks and compares: the text, or the beginning of the error.
func (p *player) wants(want string, order ...string) {
	p.t.Helper()
	s := p.ask(order...)
	got := s.Text
	if s.Error != "" {
		got = "error: " + s.Error
	}
	if !strings.HasPrefix(got, want) || want == "" && got != "" {
		p.t.Errorf("%q: %q, want %q", order, got, want)
	}
}

// Orders that cannot be obeyed are errors with their errno, and none of them means that somebody holds something.
func TestBadOrders(t *testing.T) {
	t.Parallel()
	p, dir := play(t), t.TempDir()
	for _, c := range []struct {
		order []string
		errno syscall.Errno
		text  string
	}{
		{[]string{}, 0, "an empty order"},
		{[]string{"dance"}, 0, "no such order: dance"},
		{[]string{"open", "f", dir + "/no/such"}, syscall.ENOENT, ""},
		{[]string{"open", "f", dir + "/missing", "plain"}, syscall.ENOENT, ""},
		{[]string{"remove", dir + "/missing"}, syscall.ENOENT, ""},
		{[]string{"rename", dir + "/missing", dir + "/x"}, syscall.ENOENT, ""},
		{[]string{"fill", "f", "much"}, 0, "invalid syntax"},
		{[]string{"acquire", dir, "soon"}, 0, "invalid duration"},
		{[]string{"acquire", dir + "/missing"}, syscall.ENOENT, ""},
		{[]string{"hang", dir + "/missing", "hang"}, syscall.ENOENT, ""},
		{[]string{"lease-take", dir + "/sock", "k", "me", "a while"}, 0, "invalid syntax"},
		{[]string{"lease-take", dir + "/sock", "k", "me", "1000"}, syscall.ENOENT, ""},
		{[]string{"storm", dir + "/lock", dir + "/missing", "0.1", "keep"}, syscall.ENOENT, ""},
		{[]string{"storm", dir + "/lock", dir + "/missing", "long", "keep"}, 0, "invalid syntax"},
		{[]string{"db-open", "d", "bbolt", dir + "/missing"}, syscall.ENOENT, ""},
	} {
		got := p.ask(c.order...)
		if got.Error == "" || got.Errno != c.errno || got.Held || !strings.Contains(got.Error, c.text) {
			t.Errorf("%q: %+v", c.order, got)
		}
	}
	p.wants("error: no such order", "after all that it still listens")
}

// Every kind of lock is refused with an errno that means held, by every kind that it meets.
func TestLocksAreRefused(t *testing.T) {
	t.Parallel()
	owner, other := play(t), play(t)
	for _, c := range []struct {
		held, tried string
		meets       bool
	}{
		{"flock", "flock", true},
		{"posix", "posix", true},
		{"ofd", "ofd", true},
		{"posix", "ofd", true},
		{"ofd", "posix", true},
		{"flock", "ofd", false},
		{"posix", "flock", false},
	} {
		name := c.held + " and " + c.tried
		path := filepath.Join(t.TempDir(), "lock")
		owner.wants("", "open", name, path)
		owner.wants("", c.held, name)
		owner.wants("", c.held, name) // once more does nothing
		other.wants("", "open", name, path)
		if got := other.ask(c.tried, name); (got.Errno == syscall.EAGAIN) != c.meets || (got.Error != "") != c.meets {
			t.Errorf("%s: %+v", name, got)
		}
		owner.wants("", "close", name)
		other.wants("", c.tried, name)
	}
}

func TestHoldKeepsNoDescriptorWhenRefused(t *testing.T) {
	t.Parallel()
	owner, other, path := play(t), play(t), filepath.Join(t.TempDir(), "lock")
	owner.wants("", "hold", path)
	if got := other.ask("hold", path); got.Errno != syscall.EAGAIN {
		t.Errorf("%+v", got)
	}
	other.wants("closed", "collect", path)
	owner.wants("open", "collect", path)
}

// A path leads to the open file, to another one, or nowhere.
func TestSame(t *testing.T) {
	t.Parallel()
	p, path := play(t), filepath.Join(t.TempDir(), "f")
	p.wants("", "open", "f", path)
	p.wants("true", "same", "f", path)
	p.wants("", "rename", path, path+"2")
	p.wants("false", "same", "f", path)
	p.wants("true", "same", "f", path+"2")
	p.wants("", "write", path, "another")
	p.wants("false", "same", "f", path)
	p.wants("error: ", "noreplace", path, path+"2")
	p.wants("error: ", "link", path, path+"2")
	p.wants("", "removeall", filepath.Dir(path))
	p.wants("false", "same", "f", path)
}

// A child has what its parent did not close on exec, and ends with the experiment.
func TestChildren(t *testing.T) {
	t.Parallel()
	p, other, path := play(t), play(t), filepath.Join(t.TempDir(), "f")
	p.wants("", "open", "f", path, "leaky")
	p.wants("", "flock", "f")
	p.wants("", "child", "close", "f")
	p.wants("", "open", "own", path+"2")
	p.wants("error: exit status 1", "child", "close", "own") // it did not inherit that
	pid := p.ask("child", "keep").Text
	must(t, p.cmd.Process.Kill())
	other.wants("error: resource temporarily unavailable", "hold", path)
	p.life.Close()
	other.wants("", "open", "f", path)
	other.wants("", "flock-wait", "f") // comes back when the child has ended
	if pid == "" {
		t.Error("no pid of the child")
	}
}

// The databases refuse a second opener as held, whether in this process or in another one, and keep what was written.
func TestEngines(t *testing.T) {
	t.Parallel()
	first, second := play(t), play(t)
	for _, kind := range []string{"bbolt", "LevelDB", "SQLite"} {
		dir := t.TempDir()
		first.wants("", "db-open", kind, kind, dir)
		for i := range 3 {
			first.wants("", "db-put", kind, fmt.Sprint("key", i))
		}
		for _, p := range []*player{first, second} {
			if got := p.ask("db-open", "again", kind, dir); !got.Held && got.Errno != syscall.EAGAIN {
				t.Errorf("%s: %+v", kind, got)
			}
		}
		first.wants("", "db-close", kind)
		second.wants("", "db-open", kind, kind, dir)
		second.wants("3", "db-keys", kind)
		second.wants("", "db-close", kind)
	}
}

// The file system of `nonblocking`, when it answers, is like others: what hangs there are the locks alone.
func TestAnsweringFileSystem(t *testing.T) {
	t.Parallel()
	testneed.Root(t) // the experiment does it without, in namespaces
	dir := t.TempDir()
	p := play(t, func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} })
	p.wants("", "hang", dir, "answer")
	p.wants("", "open", "f", dir+"/lock", "plain")
	for _, order := range []string{"flock", "posix", "unlock", "flock-wait"} {
		p.wants("", order, "f")
	}
	p.wants("true", "same", "f", dir+"/lock")
	p.wants("error: no such file", "open", "g", dir+"/other", "plain")
	p.wants("error: function not implemented", "open", "g", dir+"/new")
	p.wants("", "close", "f")
	wantEmpty(t, dir) // nothing is mounted there for others
}
