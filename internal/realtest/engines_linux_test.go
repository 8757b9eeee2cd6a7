package realtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// realEngine is a program that holds a data directory by its own lock. What it
// reads comes from a pipe, so that it stays.
type realEngine struct {
	name    string
	prepare func(t *testing.T, dir string)
	command func(dir, pipe string) []string
	data    string // a file of the engine's
}

func realEngines(t *testing.T) map[string]func() realEngine {
	t.Helper()
	return map[string]func() realEngine{
		"MySQL": func() realEngine {
			mariadbd := testneed.Program(t, "mariadbd", "apt-get install mariadb-server")
			return realEngine{name: "MySQL", data: "ib_logfile0", command: func(dir, pipe string) []string {
				return []string{
					mariadbd, "--no-defaults", "--datadir=" + dir, "--skip-networking", "--skip-grant-tables",
					"--user=root", "--socket=" + pipe + ".sock", "--pid-file=" + pipe + ".pid", "--innodb-buffer-pool-size=8M",
				}
			}}
		},
		"RocksDB": func() realEngine {
			ldb := testneed.Program(t, "ldb", "apt-get install rocksdb-tools")
			return realEngine{
				name: "RocksDB", data: "000099.log",
				prepare: func(t *testing.T, dir string) {
					t.Helper()
					if out, err := exec.Command(ldb, "--db="+dir, "--create_if_missing", "put", "a", "b").CombinedOutput(); err != nil {
						t.Fatalf("%v, %s", err, out)
					}
				},
				command: func(dir, _ string) []string { return []string{ldb, "--db=" + dir, "query"} },
			}
		},
		"Lucene": func() realEngine {
			java := testneed.Program(t, "java", "apt-get install default-jre-headless")
			jars, _ := filepath.Glob("/usr/share/java/lucene-*4.10*.jar") // the pattern is a constant
			testneed.Feature(t, len(jars) > 0, "Lucene", "apt-get install liblucene4.10-java")
			return realEngine{name: "Lucene", data: "_0.fdt", command: func(dir, pipe string) []string {
				return []string{java, "-cp", strings.Join(jars, ":"), "org.apache.lucene.demo.IndexFiles", "-index", dir, "-docs", pipe}
			}}
		},
	}
}

// leave starts a command whose parent ends at once. Its input is the pipe.
func leave(t *testing.T, pipe string, command ...string) int {
	t.Helper()
	log := pipe + ".log"
	out, err := exec.Command("sh", append([]string{"-c", `in=$1 log=$2; shift 2; "$@" <>"$in" >"$log" 2>&1 & echo $!`, "sh", pipe, log}, command...)...).Output()
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	must(t, err)
	t.Cleanup(func() {
		syscall.Kill(pid, syscall.SIGKILL)
		if text, err := os.ReadFile(log); err == nil && t.Failed() {
			t.Logf("%s", text)
		}
	})
	return pid
}

// soon asks doctor until it says what is right, and fails with its last words.
func soon(t *testing.T, dir, what string, right func(a advice) bool) advice {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * patience); ; <-tick.C {
		a := doctor(t, dir)
		if right(a) {
			return a
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %+v", what, a)
		}
	}
}

func (f *finding) has(pids ...int) bool {
	return f != nil && !slices.ContainsFunc(pids, func(pid int) bool {
		return !slices.ContainsFunc(f.Holders, func(p struct{ PID int }) bool { return p.PID == pid })
	})
}

// The real programs: each is recognised while it holds its lock, also when the
// process that started it is gone; a second writer is told beside it; and when the
// engine is gone, a writer without the lock.
func TestDoctorRealEngines(t *testing.T) {
	t.Parallel()
	for name := range realEngines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := realEngines(t)[name]()
			base, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			dir, pipe := filepath.Join(base, "data"), filepath.Join(base, "pipe")
			must(t, os.Mkdir(dir, 0o755))
			must(t, syscall.Mkfifo(pipe, 0o600))
			if e.prepare != nil {
				e.prepare(t, dir)
			}
			owner := leave(t, pipe, e.command(dir, pipe)...)
			a := soon(t, dir, "it holds its lock", func(a advice) bool {
				return len(a.Paths) == 1 && a.Paths[0].State == "held by "+e.name+"'s own lock"
			})
			if p := a.Paths[0]; p.Kind != e.name+" data directory" || p.Lock != "POSIX" || len(p.Holders) != 1 || p.Holders[0].PID != owner || len(a.Findings) != 0 {
				t.Errorf("pid %d: %+v", owner, a)
			}
			second := leave(t, filepath.Join(base, "pipe2"), "sh", "-c", `exec sleep 600 5>>"$1"`, "sh", filepath.Join(dir, e.data))
			a = soon(t, dir, "two writers", func(a advice) bool { return a.of("SH030") != nil })
			if !a.of("SH030").has(owner, second) {
				t.Errorf("pids %d and %d: %+v", owner, second, a)
			}
			must(t, syscall.Kill(owner, syscall.SIGKILL))
			a = soon(t, dir, "a writer without the lock", func(a advice) bool { return a.of("SH031") != nil })
			if !a.of("SH031").has(second) || a.of("SH030") != nil {
				t.Errorf("pid %d: %+v", second, a)
			}
		})
	}
}
