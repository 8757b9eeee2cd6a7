package doctor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/procid"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// seenFrom is what doctor says of a path when it is asked at another place: below a
// command, and after some steps of its own.
func seenFrom(t testing.TB, below []string, path string, steps ...string) (r doctor.Report) {
	t.Helper()
	testneed.Root(t)
	testneed.Program(t, "unshare", "apt-get install util-linux")
	a := starting(t, below, append(steps, "examine "+path)...)
	must(t, json.NewDecoder(a.out).Decode(&r))
	a.end()
	return r
}

// ownMounts is a mount namespace that a script prepares, which has the arguments
// as $1 and so on.
func ownMounts(script string, args ...string) []string {
	run := fmt.Sprintf(`%s; shift %d; exec "$@"`, script, len(args))
	return append([]string{"unshare", "--mount", "sh", "-ec", run, "sh"}, args...)
}

// ownProcesses is a pid namespace, from which those outside cannot be seen, with
// others in it that a script starts, which has the arguments as $1 and so on.
func ownProcesses(others string, args ...string) []string {
	run := fmt.Sprintf(`exec 3<&0; %s shift %d; "$@" <&3 & wait $!`, others, len(args))
	return append([]string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", run, "sh"}, args...)
}

// hiding is a /proc that hides the processes of other users in one of the ways
// that it has.
func hiding(how string) []string { return ownMounts(`mount -t proc -o "hidepid=$1" proc /proc`, how) }

// mountedAs lets the mounts of disk look like those of another type.
func mountedAs(t testing.TB, kind string) []string {
	t.Helper()
	const script = `sed "s/ - tmpfs doctor-test / - $1 server:data /" /proc/$$/mountinfo >"$2"; mount --bind "$2" /proc/$$/mountinfo`
	return ownMounts(script, kind, filepath.Join(t.TempDir(), "mountinfo"))
}

// Where processes may be hidden nothing is certain that rests on having seen all of
// them, and that nobody holds a lock or has a pid is not said.
func TestHiddenProcessesMakeLessCertain(t *testing.T) {
	t.Parallel()
	dir := place(t)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	acting(t, "flock "+filepath.Join(dir, "lf"))
	number("kb.pid", 0, sleeper)(t, dir)
	for _, how := range []string{"1", "2"} {
		r := seenFrom(t, hiding(how), dir, "nobody")
		for _, f := range r.Findings {
			if f.ID == "SH014" || f.Confidence == doctor.Certain {
				t.Errorf("hidepid=%s: %+v", how, f)
			}
		}
		if want := map[string]string{"1": "kb.pid: unseen", "2": "whom /proc hides"}[how]; !has(r.Paths[0].Notes, want) {
			t.Errorf("hidepid=%s: %+v", how, r.Paths[0])
		}
	}
	s := seenFrom(t, hiding("2"), filepath.Join(dir, "kb.pid"), "nobody").Paths[0]
	if s.State != "gone" {
		t.Errorf("%+v", s)
	}
	must(t, os.WriteFile(filepath.Join(dir, "free"), nil, 0o644))
	if s := seenFrom(t, hiding("2"), filepath.Join(dir, "free"), "nobody").Paths[0]; s.State != "not held as far as can be seen" {
		t.Errorf("%+v", s)
	}
}

// From a pid namespace the kernel's list is not whole, and who is outside is seen by
// nobody.
func TestContainerMakesLessCertain(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	alone, both := place(t), place(t)
	levelDir()(t, alone)
	levelDir()(t, both)
	const one, two = `sleep 600 5>>"$1/000001.log" &`, ` cat <&3 5>>"$1/MANIFEST-000001" >/dev/null &`
	if f := only(t, seenFrom(t, ownProcesses(one+two, both), both), "SH030"); f.Confidence != doctor.Likely {
		t.Errorf("%+v", f)
	}
	if f := only(t, seenFrom(t, ownProcesses(one, alone), alone), "SH031"); f.Confidence != doctor.Possible {
		t.Errorf("%+v", f)
	}
}

// Locks on what is served by others, and on what only looks so.
func TestFileSystemsOfOthers(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	lf := filepath.Join(dir, "lf")
	holder := acting(t, "flock "+lf)
	for kind, far := range map[string]bool{"nfs4": true, "cifs": true, "fuse.sshfs": true, "ext4": false, "xfs": false} {
		found := find(seenFrom(t, mountedAs(t, kind), lf), "SH060")
		if far != (len(found) > 0) {
			t.Errorf("%s: %+v", kind, found)
		}
		for _, f := range found {
			if f.Severity != doctor.Danger || !has(f.Evidence, lf, kind, "server:data") {
				t.Errorf("%s: %+v", kind, f)
			}
		}
		if far && (len(found) < 1 || !names(found[0].Holders, holder.pid())) {
			t.Errorf("%s: %+v", kind, found)
		}
	}
	guarded := filepath.Join(dir, "guarded")
	must(t, os.Mkdir(guarded, 0o755))
	for kind, far := range map[string]bool{"nfs4": true, "ext4": false} {
		if found := find(seenFrom(t, mountedAs(t, kind), guarded, "acquire "+guarded), "SH060"); far != (len(found) == 1) {
			t.Errorf("%s, guarded: %+v", kind, found)
		}
	}
}

// Of one SQLite file for several services only a file system of others is a danger.
func TestSharedFileOfOthers(t *testing.T) {
	t.Parallel()
	dir := disk(t)
	sqliteFile("kb.sqlite")(t, dir)
	file := filepath.Join(dir, "kb.sqlite")
	acts([]string{"write %s/kb.sqlite"})(t, dir)
	apartFrom(`5>>"$1/kb.sqlite"`)(t, dir)
	for kind, want := range map[string]doctor.Severity{"nfs4": doctor.Danger, "ext4": doctor.Notice} {
		if f := only(t, seenFrom(t, mountedAs(t, kind), file), "SH034"); f.Severity != want {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}

// A directory is judged by the mounts of who holds it: here it is on a disk, and in
// the container something lies over that.
func TestMountsAreTheHolders(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	base := place(t)
	for _, name := range []string{"data", "upper", "work"} {
		must(t, os.Mkdir(filepath.Join(base, name), 0o755))
	}
	data := filepath.Join(base, "data")
	err := unix.Mount("doctor-test", data, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", data, base, base))
	testneed.Feature(t, err == nil, "overlayfs", "run the tests on a kernel with overlayfs, with TMPDIR on a disk")
	must(t, unix.Unmount(data, unix.MNT_DETACH))
	inside := ownMounts(`mount -t overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" doctor-test "$1"`, data, filepath.Join(base, "upper"), filepath.Join(base, "work"))
	startedBelow(t, inside, "acquire "+data)
	if f := only(t, examine(t, data), "SH060"); !has(f.Evidence, "overlay") {
		t.Errorf("%+v", f)
	}
}

// sqliteFile makes a file that begins as a database does.
func sqliteFile(name string) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("SQLite format 3\x00"+strings.Repeat("\x00", 100)), 0o644))
	}
}

// leftOn has an owner on another machine, or one that takes itself for another one
// by one of its two marks, leave its record behind.
func leftOn(marks ...string) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		testneed.Feature(t, procid.MachineID() != "", "a machine id", "systemd-machine-id-setup")
		var script []string
		for i, mark := range marks {
			other := filepath.Join(t.TempDir(), "other")
			text := map[string]string{"/etc/machine-id": "0123456789abcdef0123456789abcdef\n", "/proc/sys/kernel/random/boot_id": "01234567-89ab-4def-8123-456789abcdef\n"}[mark]
			must(t, os.WriteFile(other, []byte(text), 0o644))
			marks[i] = other
			script = append(script, fmt.Sprintf(`mount --bind "$%d" %s`, i+1, mark))
		}
		startedBelow(t, ownMounts(strings.Join(script, "; "), marks...), "acquire "+dir).end()
	}
}

// pidfileOf writes what PostgreSQL has in its pid file.
func pidfileOf(number func(server int) int) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		server := acting(t, "write "+filepath.Join(dir, "base/5/1249"))
		must(t, os.WriteFile(filepath.Join(dir, "postmaster.pid"), fmt.Appendf(nil, "%d\n%s\n", number(server.pid()), dir), 0o600))
	}
}

// farTwins are the findings about engines' own ways and about other machines.
func farTwins() []twin {
	cluster := files("PG_VERSION", "global/1262", "base/5/1249")
	return []twin{
		{
			id: "SH032", guilty: then(cluster, acts([]string{"write %s/base/5/1249"})),
			innocent: map[string]situation{
				"it names the server": then(cluster, pidfileOf(func(server int) int { return server })),
				"a single user":       then(cluster, pidfileOf(func(server int) int { return -server })),
				"it names the parent": then(cluster, pidfileOf(func(int) int { return os.Getpid() })),
				"it reads":            then(cluster, acts([]string{"read %s/base/5/1249"})),
				"no cluster":          then(files("base/5/1249"), acts([]string{"write %s/base/5/1249"})),
				"guarded":             then(cluster, acts([]string{"acquire %s", "write %s/base/5/1249"})),
			},
		},
		{
			id: "SH034", guilty: then(sqliteFile("kb.sqlite"), acts([]string{"write %s/kb.sqlite"}), apartFrom(`5>>"$1/kb.sqlite"`)),
			innocent: map[string]situation{
				"one of them reads": then(sqliteFile("kb.sqlite"), acts([]string{"write %s/kb.sqlite"}), apartFrom(`5<"$1/kb.sqlite"`)),
				"one family":        then(sqliteFile("kb.sqlite"), acts([]string{"write %s/kb.sqlite"}, []string{"write %s/kb.sqlite"})),
				"another file":      then(sqliteFile("kb.sqlite"), sqliteFile("kb2.sqlite"), acts([]string{"write %s/kb.sqlite"}), apartFrom(`5>>"$1/kb2.sqlite"`)),
				"no database":       then(files("kb.sqlite"), acts([]string{"write %s/kb.sqlite"}), apartFrom(`5>>"$1/kb.sqlite"`)),
			},
		},
		{
			id: "SH070", guilty: leftOn("/etc/machine-id", "/proc/sys/kernel/random/boot_id"),
			innocent: map[string]situation{
				"an earlier boot":      leftOn("/proc/sys/kernel/random/boot_id"),
				"this boot, a new id":  leftOn("/etc/machine-id"),
				"held on this machine": acts([]string{"acquire %s"}),
			},
		},
	}
}
