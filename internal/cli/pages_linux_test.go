package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// block is a fenced block of a page.
type block struct{ kind, text string }

// blocks takes a page apart.
func blocks(t *testing.T, path string) (all []block) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		all = append(all, block{m[1], m[2]})
	}
	return all
}

// shown is a pattern for a line of output as a page shows it: numbers are examples,
// and … is anything.
func shown(line string) *regexp.Regexp {
	var b strings.Builder
	for _, piece := range regexp.MustCompile(`\d+|…|[^\d…]+`).FindAllString(line, -1) {
		switch {
		case piece == "…":
			b.WriteString(".*")
		case piece[0] >= '0' && piece[0] <= '9':
			b.WriteString(`\d+`)
		default:
			b.WriteString(regexp.QuoteMeta(piece))
		}
	}
	return regexp.MustCompile("(?m)^" + b.String() + "$")
}

// prepared is what a page takes for granted, by its name.
func prepared() map[string]string {
	return map[string]string{"dataroot.md": newHost, "reload.md": newHost + reloader}
}

// newHost makes /srv, /var/lib and /etc of a host that has just been set up, seen by
// the shell and its children alone.
const newHost = `
mount -t tmpfs -o mode=755 none /srv && mount -t tmpfs -o mode=755 none /var/lib && mount -t tmpfs none /etc
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
`

// reloader makes a kb that says its configuration when it starts and at each SIGHUP,
// and ends when that is the third, or what the check of the page refuses. Who changes
// the file writes once what is refused, and then waits until that is told.
const reloader = `
mkdir /srv/kb bin
cat >bin/kb <<'END'
#!/bin/sh
trap 'cat kb.conf; grep -q lisen kb.conf && exit 9; grep -q 3 kb.conf && exit' HUP
cat kb.conf
touch up
while :; do sleep 0.1; done
END
chmod +x bin/kb
PATH=$PWD/bin:$PATH
write() { echo "$1" >next; mv next kb.conf; }
write 'listen 1'
{
	until [ -e up ]; do sleep 0.1; done
	write 'lisen 2'
	until solehold history /srv/kb | grep -q 'goes on with what it has'; do sleep 0.1; done
	write 'listen 3'
} &
`

// Each of these pages is done as it is written: its commands end well, and print what
// it says. (docs/adopt/systemd.md: internal/realtest.)
func TestPages(t *testing.T) {
	testneed.Root(t) // as the texts show it, and for namespaces
	testneed.Program(t, "unshare", "apt-get install util-linux")
	adopt, _ := filepath.Glob("../../docs/adopt/*.md")
	from, _ := filepath.Glob("../../docs/from/*.md")
	if len(adopt) < 8 || len(from) < 5 {
		t.Fatal(adopt, from)
	}
	for _, path := range slices.Concat(adopt, from, []string{"../../docs/dataroot.md", "../../docs/reload.md"}) {
		if name := filepath.Base(path); name != "systemd.md" {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				follow(t, prepared()[name], blocks(t, path))
			})
		}
	}
}

// follow runs the commands of a page in a directory of their own, one after the
// other. What nobody has an expectation of fails.
func follow(t *testing.T, before string, all []block) {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { sweep(dir) })
	script, want := before, []string{}
	for i, b := range all {
		switch {
		case b.kind == "go":
			buildService(t, dir, b.text)
		case b.kind == "sh" && (i+1 == len(all) || all[i+1].kind != "text"):
			t.Errorf("the page does not say what this prints:\n%s", b.text)
		case b.kind == "sh":
			script, want = script+mark+b.text, append(want, all[i+1].text)
		}
	}
	said := strings.Split(sh(t, dir, script), "== block\n")
	if len(want) == 0 || len(said) != len(want)+1 {
		t.Fatalf("%d blocks of commands, and %d answers: %q", len(want), len(said)-1, said)
	}
	for i, text := range want {
		for line := range strings.Lines(text) {
			if !shown(strings.TrimSuffix(line, "\n")).MatchString(said[i+1]) {
				t.Errorf("no line %q in\n%s", line, said[i+1])
			}
		}
	}
}

// mark is before each block.
const mark = "\necho '== block'\n"

func sh(t *testing.T, dir, script string) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out")) // what stays in the background has no pipe of ours
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := exec.Command("timeout", "120", "unshare", "--mount", "sh", "-euc", script) // a page that waits for ever is wrong
	c.Dir, c.Stdout, c.Stderr = dir, file, file
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state", "TZ=UTC")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = c.Run()
	out, _ := os.ReadFile(file.Name())
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return strings.ReplaceAll(string(out), "\r", "")
}

// buildService makes the program of a page, with this library.
func buildService(t *testing.T, dir, text string) {
	t.Helper()
	path := filepath.Join(dir, "main.go")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "service"), path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
