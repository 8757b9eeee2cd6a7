package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// watchOnce asks once, by a command that is the whole of the service's health.
func watchOnce(t *testing.T, dir, probe string, flags ...string) result {
	t.Helper()
	return program(t, "solehold", append(append([]string{"watch", "--once", "--health-exec", probe, "--health-failure-threshold", "1"}, flags...), dir, "--", "true")...)
}

// watchEnds reaches each code that the help of watch promises.
func watchEnds() map[int]reached {
	return map[int]reached{
		0: func(t *testing.T) int { return watchOnce(t, dataDir(t), "false").code },
		1: func(t *testing.T) int {
			dir := dataDir(t)
			hold(t, dir, "sleep", "300")
			return watchOnce(t, dir, "false").code
		},
		4: func(t *testing.T) int {
			needFilter(t)
			return program(t, "failing", "ENOLCK", "get", "solehold", "watch", "--once", "--health-exec", "false", "--health-failure-threshold", "1", dataDir(t), "--", "true").code
		},
		64: func(*testing.T) int { return ask("watch").code },
		69: func(t *testing.T) int {
			dir := dataDir(t)
			program(t, "solehold", "run", "--restart", "always", "--restart-max", "1", "--restart-delay", "0", dir, "--", "false")
			return watchOnce(t, dir, "false").code
		},
		73: func(t *testing.T) int { return watchOnce(t, filepath.Join(dataDir(t), "missing"), "true").code },
		74: func(t *testing.T) int {
			needFilter(t)
			return program(t, "failing", "ENOLCK", "set", "solehold", "watch", "--once", "--health-exec", "true", dataDir(t), "--", "true").code
		},
		77: func(t *testing.T) int {
			return program(t, "nobody", "solehold", "watch", "--once", "--health-exec", "true", dataDir(t), "--", "true").code
		},
		78: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Chmod(dir, 0o777))
			return watchOnce(t, dir, "true").code
		},
	}
}

// Case C47 with watches among the starters: every second one is a watch, as root
// and as the service's user. One service starts, and whoever did not start it
// leaves without a complaint.
func TestC47WatchAmongStarters(t *testing.T) {
	testneed.Root(t)
	const starters = 50
	for range soak(20) {
		dir := dataDir(t)
		must(t, os.Chown(dir, 65534, 65534))
		serve := []string{"sh", "-c", `echo $$ >>"$1/owners"; until [ -e "$1/over" ]; do sleep 0.05; done`, "sh", dir}
		all := make([]*exec.Cmd, starters)
		said := make([]strings.Builder, starters)
		for i := range all {
			words := append([]string{"solehold", "run", "--held-exit", "75", dir, "--"}, serve...)
			if i%2 == 0 {
				words = append([]string{"solehold", "watch", "--once", "--health-exec", "test -s " + dir + "/owners", "--health-period", "1s", "--health-timeout", "20s", dir, "--"}, serve...)
			}
			if i%4 >= 2 {
				words = append([]string{"nobody"}, words...)
			}
			all[i] = exec.Command(words[0], words[1:]...)
			all[i].Stderr = &said[i]
			must(t, all[i].Start())
		}
		if await([]string{dir, "HELD"}) != 0 {
			t.Fatal("nobody has started it")
		}
		left := make(chan int, starters)
		for i, cmd := range all {
			go func() {
				cmd.Wait()
				left <- i
			}()
		}
		for range starters - 1 {
			i := <-left
			if code, want := codeOf(all[i]), 75*(i%2); code != want && code != 0 {
				t.Errorf("starter %d: code %d, want %d: %s", i, code, want, &said[i])
			}
		}
		owners, err := os.ReadFile(filepath.Join(dir, "owners"))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "over"), nil, 0o644))
		<-left
		if n := strings.Count(string(owners), "\n"); n != 1 {
			t.Errorf("%d owners", n)
		}
		if await([]string{dir, "FREE"}) != 0 {
			t.Error("it does not end")
		}
		r := ask("history", "--json", dir)
		if n, m := strings.Count(r.stdout, `"kind":"acquired"`), strings.Count(r.stdout, `"kind":"recovery"`); n != 1 || m > 1 {
			t.Errorf("%d acquisitions, %d recoveries", n, m)
		}
	}
}
