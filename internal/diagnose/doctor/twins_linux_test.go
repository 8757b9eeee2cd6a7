package doctor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/diagnose/doctor"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
)

// situation makes one state of affairs in an empty directory.
type situation func(t *testing.T, dir string)

// twin is a finding with a situation that has it, and those next to it that must
// not: each differs from the first in one thing. Where a guard of the finding is
// taken away one of the innocent ones is told.
type twin struct {
	id       string
	name     string
	guilty   situation
	innocent map[string]situation
	maxAge   time.Duration
}

// acts starts actors, each with its steps; %s is the directory.
func acts(all ...[]string) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, steps := range all {
			acting(t, in(dir, steps)...)
		}
	}
}

// then does one after the other.
func then(all ...situation) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, s := range all {
			s(t, dir)
		}
	}
}

// waits starts an actor that will wait, and returns when it does.
func waits(steps ...string) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		a := starting(t, nil, in(dir, steps)...)
		testneed.Until(t, "it waits", func() bool {
			r := examine(t, dir)
			return slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool { return names(f.Waiters, a.pid()) })
		})
	}
}

// stops starts an actor and stops it.
func stops(steps ...string) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		a := acting(t, in(dir, steps)...)
		must(t, a.cmd.Process.Signal(syscall.SIGSTOP))
		testneed.Until(t, "stopped", func() bool { st, err := procfs.Default().Stat(a.pid()); return err == nil && st.State == 'T' })
	}
}

// apartFrom starts a program that is no relative of the actors, with a file open.
func apartFrom(open string) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		leaving(t, `sleep 600 `+open+` >/dev/null & echo $!`, dir)
	}
}

// in puts the directory into steps.
func in(dir string, steps []string) []string {
	var all []string
	for _, s := range steps {
		all = append(all, fmt.Sprintf(s, dir))
	}
	return all
}

// files makes files, whose folders come with them.
func files(names ...string) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, name := range names {
			path := filepath.Join(dir, name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, []byte("x"), 0o644))
			hour := time.Now().Add(-time.Hour)
			must(t, os.Chtimes(path, hour, hour))
		}
	}
}

func mode(m os.FileMode) situation {
	return func(t *testing.T, dir string) { t.Helper(); must(t, os.Chmod(dir, m)) }
}

// number writes a pid file for a process that has that name.
func number(name string, age time.Duration, pid func(t *testing.T) int) situation {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, fmt.Appendln(nil, pid(t)), 0o644))
		at := time.Now().Add(-age)
		must(t, os.Chtimes(path, at, at))
	}
}

func sleeper(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}

func nobody(t *testing.T) int { t.Helper(); return 1<<22 + 1 }

// levelDir is a layout of an engine that locks a file.
func levelDir(more ...string) situation {
	return files(append([]string{"CURRENT", "LOCK", "MANIFEST-000001"}, more...)...)
}

// twins are the findings about locks and who waits for them.
func twins() []twin {
	return []twin{
		{
			id: "SH001", guilty: acts([]string{"flock %s/lf"}), maxAge: time.Nanosecond,
			innocent: map[string]situation{
				"it is let go": func(t *testing.T, dir string) { acting(t, "flock "+filepath.Join(dir, "lf")).end() },
				"only open":    acts([]string{"write %s/lf"}),
				"a lease":      then(files("lf"), acts([]string{"lease %s/lf"})),
			},
		},
		{
			id: "SH003", guilty: then(stops("flock %s/lf"), waits("flock-wait %s/lf")),
			innocent: map[string]situation{
				"nobody waits":        stops("flock %s/lf"),
				"the holder runs":     then(acts([]string{"flock %s/lf"}), waits("flock-wait %s/lf")),
				"another one stopped": then(stops("write %s/lf"), acts([]string{"flock %s/lf"}), waits("flock-wait %s/lf")),
			},
		},
		{
			id: "SH006", guilty: then(acts([]string{"posix %s/lf"}), waits("posix-wait %s/lf")),
			innocent: map[string]situation{
				"they share it": acts([]string{"posix-share %s/lf"}, []string{"posix-share %s/lf"}),
				"another kind":  acts([]string{"posix %s/lf"}, []string{"flock-wait %s/lf"}),
				"another file":  acts([]string{"posix %s/lf"}, []string{"posix-wait %s/lf2"}),
			},
		},
		{
			id: "SH021", guilty: acts([]string{"flock %s/lf", "remove %s/lf"}),
			innocent: map[string]situation{
				"not removed":     acts([]string{"flock %s/lf"}),
				"not locked":      acts([]string{"write %s/lf", "remove %s/lf"}),
				"another removed": acts([]string{"flock %s/lf", "write %s/lf2", "remove %s/lf2"}),
				"it was moved": func(t *testing.T, dir string) {
					acting(t, "flock "+filepath.Join(dir, "lf"))
					must(t, os.Rename(filepath.Join(dir, "lf"), filepath.Join(dir, "lf.moved")))
				},
			},
		},
		{
			id: "SH021", name: "replaced", guilty: func(t *testing.T, dir string) {
				acting(t, "flock "+filepath.Join(dir, "lf"))
				must(t, os.WriteFile(filepath.Join(dir, "new"), nil, 0o644))
				must(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "lf")))
			},
			innocent: map[string]situation{
				"written over": func(t *testing.T, dir string) {
					acting(t, "flock "+filepath.Join(dir, "lf"))
					must(t, os.WriteFile(filepath.Join(dir, "lf"), []byte("1"), 0o644))
				},
				"linked again": func(t *testing.T, dir string) {
					acting(t, "flock "+filepath.Join(dir, "lf"))
					must(t, os.Link(filepath.Join(dir, "lf"), filepath.Join(dir, "lf2")))
					must(t, os.Rename(filepath.Join(dir, "lf2"), filepath.Join(dir, "lf")))
				},
			},
		},
		{
			id: "SH080", guilty: then(mode(0o777|os.ModeSticky), acts([]string{"flock %s/lf"})),
			innocent: map[string]situation{
				"not everybody's": then(mode(0o775), acts([]string{"flock %s/lf"})),
				"not locked":      then(mode(0o777), acts([]string{"write %s/lf"})),
			},
		},
	}
}

// dataTwins are the findings about data and files.
func dataTwins() []twin {
	return []twin{
		{
			id: "SH030", guilty: then(levelDir(), acts([]string{"posix %s/LOCK", "write %s/000001.log"}), apartFrom(`5>>"$1/MANIFEST-000001"`)),
			innocent: map[string]situation{
				"it reads":          then(levelDir(), acts([]string{"posix %s/LOCK", "write %s/000001.log"}), apartFrom(`5<"$1/MANIFEST-000001"`)),
				"not its file":      then(levelDir("notes"), acts([]string{"posix %s/LOCK", "write %s/000001.log"}), apartFrom(`5>>"$1/notes"`)),
				"one family":        then(levelDir(), acts([]string{"posix %s/LOCK", "write %s/000001.log"}, []string{"write %s/MANIFEST-000001"})),
				"no data directory": then(acts([]string{"write %s/000001.log"}), apartFrom(`5>>"$1/MANIFEST-000001"`)),
			},
		},
		{
			id: "SH031", guilty: then(levelDir(), acts([]string{"write %s/000001.log"})),
			innocent: map[string]situation{
				"locked":   then(levelDir(), acts([]string{"posix %s/LOCK", "write %s/000001.log"})),
				"it reads": then(levelDir("000001.log"), acts([]string{"read %s/000001.log"})),
				"guarded":  then(levelDir(), acts([]string{"acquire %s", "write %s/000001.log"})),
			},
		},
		{
			id: "SH033", guilty: func(t *testing.T, dir string) {
				acting(t, "acquire "+dir).end()
				acting(t, "write "+filepath.Join(dir, "file"))
			},
			innocent: map[string]situation{
				"it reads": func(t *testing.T, dir string) {
					acting(t, "acquire "+dir).end()
					must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
					acting(t, "read "+filepath.Join(dir, "file"))
				},
				"it holds it":       acts([]string{"acquire %s", "write %s/file"}),
				"it was never ours": acts([]string{"write %s/file"}),
			},
		},
		{
			id: "SH035", guilty: func(t *testing.T, dir string) {
				must(t, os.Mkdir(filepath.Join(dir, "in"), 0o755))
				acting(t, "acquire "+dir)
				acting(t, "acquire "+filepath.Join(dir, "in"))
			},
			innocent: map[string]situation{
				"side by side, one name begins with the other": func(t *testing.T, dir string) {
					for _, name := range []string{"kb", "kb2"} {
						must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
						acting(t, "acquire "+filepath.Join(dir, name))
					}
				},
			},
		},
		{
			id: "SH040", guilty: number("kb.pid", 0, nobody),
			innocent: map[string]situation{
				"it lives":     number("sleep.pid", 0, sleeper),
				"another name": number("kb.pid", 0, sleeper),
				"no pid file":  number("kb.txt", 0, nobody),
				"a port": func(t *testing.T, dir string) {
					must(t, os.WriteFile(filepath.Join(dir, "port"), []byte("8080"), 0o644))
				},
			},
		},
		{
			id: "SH041", guilty: files(".git/index.lock", ".git/HEAD"),
			innocent: map[string]situation{
				"not in a .git":  files("index.lock", "HEAD"),
				"no lock of git": files(".git/index", ".git/HEAD"),
			},
		},
		{
			id: "SH050", guilty: acts([]string{"fill %s/big", "remove %s/big"}),
			innocent: map[string]situation{
				"not removed": acts([]string{"fill %s/big"}),
				"small":       acts([]string{"write %s/small", "remove %s/small"}),
				"memory":      func(t *testing.T, _ string) { acting(t, "memfd") },
			},
		},
	}
}

// Each finding is told of its situation, and of none that is next to it.
func TestTwins(t *testing.T) {
	t.Parallel()
	testneed.Root(t) // other processes must be seen for "nobody has it"
	for _, c := range slices.Concat(twins(), dataTwins(), farTwins()) {
		t.Run(c.id+c.name, func(t *testing.T) {
			t.Parallel()
			told := func(t *testing.T, dir string) []doctor.Finding {
				return find(doctor.Examine(t.Context(), doctor.Options{Paths: []string{dir}, MaxAge: c.maxAge, Timeout: 4 * patience}), c.id)
			}
			t.Run("guilty", func(t *testing.T) {
				t.Parallel()
				dir := place(t)
				c.guilty(t, dir)
				testneed.Until(t, "the finding", func() bool { return len(told(t, dir)) > 0 })
			})
			for name, s := range c.innocent {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					dir := place(t)
					s(t, dir)
					for range 3 {
						if found := told(t, dir); len(found) > 0 {
							t.Errorf("%+v", found)
						}
					}
				})
			}
		})
	}
}
