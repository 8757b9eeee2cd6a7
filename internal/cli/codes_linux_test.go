package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

// reached is how one exit code comes about. It returns the code.
type reached func(*testing.T) int

// runEnds reaches each code that the help of run promises.
func runEnds() map[int]reached {
	return map[int]reached{
		0: func(t *testing.T) int {
			dir := dataDir(t)
			hold(t, dir, "sleep", "300")
			return runCode(t, dir)
		},
		64: func(t *testing.T) int {
			return program(t, "solehold", "run", dataDir(t), "--", "./no-such-command").code
		},
		69: func(t *testing.T) int {
			return program(t, "solehold", "run", "--restart", "always", "--restart-max", "1", "--restart-delay", "0", dataDir(t), "--", "false").code
		},
		73: func(t *testing.T) int { return runCode(t, filepath.Join(dataDir(t), "missing")) },
		74: func(t *testing.T) int {
			needFilter(t)
			return program(t, "failing", "ENOLCK", "set", "solehold", "run", dataDir(t), "--", "true").code
		},
		75: func(t *testing.T) int {
			dir := dataDir(t)
			// The wrapper is killed, its command ends by that, and what the command left does not.
			run := hold(t, dir, "sh", "-c", `sh -c 'trap "" TERM; : >"$SOLEHOLD_DIR/up"; exec sleep 300' & exec sleep 300`)
			if !eventually(func() bool { _, err := os.Stat(filepath.Join(dir, "up")); return err == nil }) {
				t.Fatal("what the command starts never came up")
			}
			must(t, run.Process.Kill())
			t.Cleanup(func() { ask("release", "--force", "--timeout", "1ms", dir) })
			for range 200 {
				if code := runCode(t, dir); code != 0 {
					return code
				}
			}
			return 0
		},
		76: func(t *testing.T) int {
			return program(t, "solehold", "run", dataDir(t), "--", "sh", "-c", `until rm -r "$SOLEHOLD_DIR"; do :; done; exec sleep 300`).code
		},
		77: func(t *testing.T) int { return program(t, "nobody", "solehold", "run", dataDir(t), "--", "true").code },
		78: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Chmod(dir, 0o777))
			return runCode(t, dir)
		},
	}
}

func runCode(t *testing.T, dir string) int {
	t.Helper()
	return program(t, "solehold", "run", dir, "--", "true").code
}

// statusEnds reaches each code that the help of status promises.
func statusEnds() map[int]reached {
	return map[int]reached{
		0: func(t *testing.T) int {
			dir := dataDir(t)
			hold(t, dir, "sleep", "300")
			return ask("status", dir).code
		},
		1: func(t *testing.T) int {
			dir := dataDir(t)
			abandon(t, dir)
			return ask("status", dir).code
		},
		3: func(t *testing.T) int { return ask("status", dataDir(t)).code },
		4: func(t *testing.T) int { return ask("status", filepath.Join(dataDir(t), "missing")).code },
		5: func(t *testing.T) int {
			dir := dataDir(t)
			cmd := hold(t, dir, "sleep", "300")
			must(t, cmd.Process.Signal(syscall.SIGSTOP))
			must(t, os.Remove(lockFile(dir)))
			return ask("status", dir).code
		},
		64: func(*testing.T) int { return ask("status").code },
		73: few("status", "data"),
	}
}

// few runs a command that may open too few files.
func few(words ...string) reached {
	return func(t *testing.T) int {
		return program(t, "sh", append([]string{"-c", `ulimit -n 5; exec solehold "$@"`, "sh"}, words...)...).code
	}
}

// historyEnds reaches each code that the help of history promises.
func historyEnds() map[int]reached {
	return map[int]reached{
		0:  func(t *testing.T) int { return ask("history", dataDir(t)).code },
		64: func(*testing.T) int { return ask("history").code },
		73: func(t *testing.T) int { return ask("history", filepath.Join(dataDir(t), "missing")).code },
		74: func(t *testing.T) int {
			needFuse(t)
			dir := dataDir(t)
			return program(t, "hung", dir, "solehold", "history", "--timeout", "100ms", dir).code
		},
		77: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Chmod(dir, 0))
			return program(t, "nobody", "solehold", "history", dir).code
		},
		78: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Symlink(dir, filepath.Join(dir, ".solehold")))
			return ask("history", dir).code
		},
	}
}

// doctorEnds reaches each code that the help of doctor promises.
func doctorEnds() map[int]reached {
	return map[int]reached{
		0: func(t *testing.T) int { return ask("doctor", dataDir(t)).code },
		1: func(t *testing.T) int {
			dir := dataDir(t)
			hold(t, dir, "sleep", "300")
			return ask("doctor", "--max-age", "1ms", dir).code
		},
		2:  func(t *testing.T) int { return ask("doctor", filepath.Join(dataDir(t), "missing")).code },
		64: func(*testing.T) int { return ask("doctor", "--pid", "-1").code },
		73: few("doctor"),
	}
}

// cleanEnds reaches each code that the help of clean promises.
func cleanEnds() map[int]reached {
	return map[int]reached{
		0:  func(t *testing.T) int { return ask("clean", dataDir(t)).code },
		64: func(*testing.T) int { return ask("clean").code },
		73: func(t *testing.T) int { return ask("clean", filepath.Join(dataDir(t), "missing")).code },
		74: func(t *testing.T) int {
			needFilter(t)
			return program(t, "failing", "ENOLCK", "get", "solehold", "clean", dataDir(t)).code
		},
		75: func(t *testing.T) int {
			dir := dataDir(t)
			hold(t, dir, "sleep", "300")
			return ask("clean", "--yes", dir).code
		},
		77: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Chmod(dir, 0))
			return program(t, "nobody", "solehold", "clean", dir).code
		},
		78: func(t *testing.T) int {
			dir := dataDir(t)
			must(t, os.Symlink(dir, filepath.Join(dir, ".solehold")))
			return ask("clean", dir).code
		},
	}
}

// Every code in a help text can be reached, and no other is needed.
func TestExitCodes(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	for verb, ends := range map[string]map[int]reached{
		"run": runEnds(), "status": statusEnds(), "history": historyEnds(), "release": releaseEnds(), "doctor": doctorEnds(), "watch": watchEnds(),
		"clean": cleanEnds(), "top": {0: func(*testing.T) int { return ask("top").code }, 64: func(*testing.T) int { return ask("top", "--every", "0s").code }, 73: few("top")},
		"root new": rootNewEnds(), "root list": rootListEnds(), "root gc": rootGCEnds(), "root path": rootPathEnds(),
		"incident list": listEnds(), "incident show": showEnds(), "incident pack": packEnds(),
	} {
		for _, code := range promised(t, verb) {
			if ends[code] == nil {
				t.Errorf("%s: nothing reaches code %d", verb, code)
			}
		}
		for code, reach := range ends {
			t.Run(verb+"/"+strconv.Itoa(code), func(t *testing.T) {
				if !slices.Contains(promised(t, verb), code) {
					t.Errorf("the help of %s does not have code %d", verb, code)
				}
				if got := reach(t); got != code {
					t.Errorf("code %d, want %d", got, code)
				}
			})
		}
	}
}

// promised reads the codes of a help text.
func promised(t *testing.T, verb string) []int {
	t.Helper()
	_, list, _ := strings.Cut(ask(append(strings.Fields(verb), "--help")...).stdout, "Exit codes:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var codes []int
	for _, m := range regexp.MustCompile(`(?m)^  (\d+) +\S`).FindAllStringSubmatch(list, -1) {
		code, err := strconv.Atoi(m[1])
		must(t, err)
		codes = append(codes, code)
	}
	if len(codes) < 3 {
		t.Fatalf("%s: few codes in %q", verb, list)
	}
	return codes
}

// The worst of several directories gives the code, and --free asks another
// question.
func TestStatusOfMany(t *testing.T) {
	t.Parallel()
	held, free, stale, missing, danger := dataDir(t), dataDir(t), dataDir(t), dataDir(t)+"/missing", dataDir(t)
	hold(t, held, "sleep", "300")
	abandon(t, stale)
	writer := exec.Command("sh", "-c", `exec sleep 300 >"$1/file"`, "sh", danger)
	must(t, writer.Start())
	defer func() { writer.Process.Kill(); writer.Wait() }()
	if await([]string{danger, "UNGUARDED"}) != 0 {
		t.Fatal("the writer is not seen")
	}
	for _, c := range []struct {
		dirs       []string
		code, free int
	}{
		{[]string{held}, 0, 1},
		{[]string{free}, 3, 0},
		{[]string{stale}, 1, 0},
		{[]string{missing}, 4, 1},
		{[]string{danger}, 5, 1},
		{[]string{held, free}, 3, 1},
		{[]string{stale, free}, 1, 0},
		{[]string{stale, free, held}, 1, 1},
		{[]string{missing, stale}, 4, 1},
		{[]string{held, danger, missing}, 5, 1},
	} {
		if got := ask(append([]string{"status"}, c.dirs...)...).code; got != c.code {
			t.Errorf("%v: code %d, want %d", c.dirs, got, c.code)
		}
		if got := ask(append([]string{"status", "--free"}, c.dirs...)...).code; got != c.free {
			t.Errorf("--free %v: code %d, want %d", c.dirs, got, c.free)
		}
	}
}
