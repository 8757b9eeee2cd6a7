package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// host makes /srv, /var/lib and /etc of a host that has just been set up, seen by the
// shell and its children alone.
const host = `
mount -t tmpfs -o mode=755 none /srv && mount -t tmpfs -o mode=755 none /var/lib && mount -t tmpfs none /etc || exit 99
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
`

// service is a kb that says its configuration when it starts and at each SIGHUP, and
// ends when that is the third. Who changes the file writes once what the check of the
// page refuses, and then waits until that is told.
const service = `
mkdir /srv/kb bin
cat >bin/kb <<'END'
#!/bin/sh
trap 'cat kb.conf; grep -q 3 kb.conf && exit' HUP
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

// The commands in our pages are run as they stand there, and say what they are to
// say; a command that nobody has an expectation of fails.
func TestDocs(t *testing.T) {
	testneed.Root(t)
	testneed.Program(t, "unshare", "apt-get install util-linux")
	for page, c := range map[string]struct {
		setup string
		says  map[string]string // by command
	}{
		"dataroot.md": {"", map[string]string{
			"solehold root new /srv kb --instance blue": `^/srv/kb@blue\n$`,
			"solehold root new /srv kb --per host":      `^/srv/kb@h[0-9a-f]{12}\n$`,
			"solehold root path state kb":               `^/var/lib/kb\n$`,
			"solehold root list /srv":                   `^NAME .*\nkb@blue +FREE .* /srv/kb@blue\nkb@h`,
			"solehold root gc /srv":                     `^NAME .*\nkb@blue +kept: it is to stay .*\nkb@h`,
		}},
		"reload.md": {service, map[string]string{
			"solehold run --reload kb.conf --reload-check 'grep -q listen' /srv/kb -- kb": `^listen 1\nlisten 3\n$`,
		}},
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			found := commands(t, filepath.Join("../../docs", page))
			script := host + c.setup
			for _, command := range found {
				script += "echo ==; " + command + "\n"
			}
			cmd := exec.Command("unshare", "--mount", "--", "sh", "-c", script)
			cmd.Dir = dataDir(t)
			t.Cleanup(func() { sweep(cmd.Dir) })
			r := finished(t, cmd)
			said := strings.Split(r.stdout, "==\n")
			if len(found) != len(c.says) || len(said) != len(found)+1 || r.code != 0 {
				t.Fatalf("%d commands, %d with an expectation: %+v", len(found), len(c.says), r)
			}
			for i, command := range found {
				if want, ok := c.says[command]; !ok || !regexp.MustCompile(want).MatchString(said[i+1]) {
					t.Errorf("%s\nsays %q, want %q", command, said[i+1], want)
				}
			}
		})
	}
}

// commands are the lines of a page's shell blocks, without their comments.
func commands(t *testing.T, page string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	must(t, err)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, "  #")
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}
