package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// dist runs make dist for one platform and the lean binary.
func dist(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	c := exec.Command("make", "-C", "..", "dist", "DIST="+out+"/dist", "DIST_PLATFORMS=linux/amd64", "DIST_CMDS=./cmd/solehold", "VERSION=1.2.3")
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out + "/dist"
}

// apart runs a script as root of a copy of this system, of which nothing is kept.
func apart(t *testing.T, dir, script string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "root", "run the tests as root, for example in a container")
	}
	const boot = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$3"
mkdir "$3/up" "$3/work" "$3/root"
root=$3/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$3/up,workdir=$3/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root/dist"
mount --bind "$1" "$root/dist"
exec chroot "$root" sh -ec "$2"`
	c := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", boot, "sh", dir, before+script+gone, t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// missing skips, or fails where nothing may be skipped.
func missing(t *testing.T, what, how string) {
	t.Helper()
	if os.Getenv("SOLEHOLD_NO_SKIP") == "1" {
		t.Fatalf("needs %s; get it: %s", what, how)
	}
	t.Skipf("needs %s; get it: %s", what, how)
}

func program(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		missing(t, name, "apt-get install "+name)
	}
}

// use does what a person does after an installation, and ends with the names of
// what is there.
const use = `

cd /tmp
solehold version
mkdir data
solehold run data -- sh -c 'solehold status "$SOLEHOLD_DIR"'
solehold history data | grep -c released
man -w solehold-run >/dev/null 2>&1 || test -e /usr/share/man/man1/solehold-run.1
for page in serve drill lab cluster cluster-break probe; do test -e /usr/share/man/man1/solehold-$page.1; done
bash -c '. /usr/share/bash-completion/completions/solehold && complete -p solehold'
test -e /usr/share/zsh/vendor-completions/_solehold
test -e /usr/share/fish/vendor_completions.d/solehold.fish
journalctl --list-catalog 2>/dev/null | grep -c 'The data directory'
`

// before and gone list what has our name in the places of packages; what is there
// at the end and was not at the beginning was left.
const (
	list   = `{ find /usr /etc /var/lib /opt -xdev -name '*solehold*' | sort; journalctl --list-catalog 2>/dev/null | grep solehold || :; }`
	before = list + " >/run/before\n"
	gone   = list + ` >/run/after; diff /run/before /run/after | sed -n 's/^>/LEFT/p'`
)

// What make dist makes is whole and static, and the packages install, work and go
// without a trace, in a copy of this system.
func TestDist(t *testing.T) {
	dir := dist(t)
	sums := exec.Command("sha256sum", "-c", "--strict", "SHA256SUMS")
	sums.Dir = dir
	if out, err := sums.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
	f, err := elf.Open(filepath.Join(dir, "linux-amd64", "solehold"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("not static")
		}
	}
	t.Run("deb", func(t *testing.T) {
		program(t, "dpkg")
		out := apart(t, dir, "dpkg -i /dist/solehold_1.2.3_amd64.deb\ndpkg -V solehold\n"+use+"dpkg -r solehold\ndpkg -P solehold\n")
		installed(t, out)
		if exec.Command("dpkg", "-s", "solehold").Run() == nil {
			t.Error("this system has it now")
		}
	})
	t.Run("rpm", func(t *testing.T) {
		program(t, "rpm")
		installed(t, apart(t, dir, "rpm -i --nodeps /dist/solehold-1.2.3-1.x86_64.rpm\nrpm -V --nodeps solehold\n"+use+"rpm -e solehold\n"))
	})
}

func installed(t *testing.T, out string) {
	t.Helper()
	for _, want := range []string{"solehold ", "HELD      /tmp/data", "\n1\n", "complete -o default -F __start_solehold solehold", "\n18\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "LEFT ") {
		t.Errorf("left behind:\n%s", out)
	}
}

// What is not there is not packed: an error, and no package.
func TestNothingToPack(t *testing.T) {
	dir := t.TempDir()
	o := order{version: "1.2.3", arch: "amd64", bin: dir, share: dir, docs: "..", out: dir}
	if err := o.pack(); err == nil || !strings.Contains(err.Error(), "nothing there to be packed") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.deb")); len(left) > 0 {
		t.Errorf("%v", left)
	}
}

// The same is packed twice, to the byte.
func TestReproducible(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1796043600")
	from := t.TempDir()
	for _, name := range []string{"solehold", "man1/solehold.1", "completion/solehold.bash", "completion/_solehold", "completion/solehold.fish", "solehold.catalog"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var before string
	for range 2 {
		out := t.TempDir()
		o := order{version: "1.2.3", arch: "arm64", bin: from, share: from, docs: "..", out: out}
		if err := o.pack(); err != nil {
			t.Fatal(err)
		}
		deb, err := os.ReadFile(filepath.Join(out, "solehold_1.2.3_arm64.deb"))
		if err != nil {
			t.Fatal(err)
		}
		if before != "" && before != string(deb) {
			t.Error("another package of the same files")
		}
		before = string(deb)
	}
}
