package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a program and returns what it says.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v %s%s", cmd.Args, err, out, errs.String())
	}
	return string(out)
}

// installed lays the programs into one folder, and what is made of their texts into
// another, as a package does.
func installed(t *testing.T) (bin, share string) {
	t.Helper()
	bin, share = t.TempDir(), t.TempDir()
	build := exec.Command("go", "build", "-o", bin+"/", "../../cmd/solehold", "../../cmd/solehold-serve", "../../cmd/solehold-drill", "../../cmd/solehold-cluster", "../../cmd/solehold-probe", ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	run(t, build)
	run(t, exec.Command(filepath.Join(bin, "mangen"), share))
	return bin, share
}

// press types words into a real bash that has read the script, presses the tab key
// behind them, and returns what is offered.
func press(t *testing.T, bin, script, line string) []string {
	t.Helper()
	const keys = `. /usr/share/bash-completion/bash_completion; . "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=63
read -ra COMP_WORDS <<<"$2"; case $2 in *" ") COMP_WORDS+=("");; esac
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; } # which is for a shell with a keyboard
__start_solehold; printf '%s\n' "${COMPREPLY[@]}"`
	cmd := exec.Command("bash", "--norc", "-c", keys, "bash", script, line)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	var words []string
	for row := range strings.Lines(run(t, cmd)) {
		if word, _, _ := strings.Cut(strings.TrimSpace(row), " "); word != "" { // what follows explains it
			words = append(words, word)
		}
	}
	return words
}

// A shell is told the commands of the companions that are installed, and their flags
// and words, though it asks the lean program; each has its page.
func TestCompanions(t *testing.T) {
	testneed.Program(t, "bash", "apt-get install bash")
	_, err := os.Stat("/usr/share/bash-completion/bash_completion")
	testneed.Feature(t, err == nil, "bash-completion", "apt-get install bash-completion")
	bin, share := installed(t)
	script := filepath.Join(share, "completion", "solehold.bash")
	for line, want := range map[string][]string{
		"solehold ":                   {"run", "status", "serve", "drill", "lab", "cluster", "probe"},
		"solehold se":                 {"serve"},
		"solehold serve --li":         {"--listen"},
		"solehold serve --cl":         {"--cluster"},
		"solehold drill --ro":         {"--rounds"},
		"solehold lab ":               {"list"},
		"solehold cluster b":          {"break"},
		"solehold cluster break --cl": {"--cluster"},

		"solehold status --cluster etcd://x:1/p --al": {"--all"},
		"solehold status --js":                        {"--json"},
		"solehold probe g":                            {"grpc"},
		"solehold run --ho":                           {"--hold"},
	} {
		got := press(t, bin, script, line)
		for _, word := range want {
			if !slices.ContainsFunc(got, func(w string) bool { return strings.TrimRight(w, "=") == word }) {
				t.Errorf("%q: no %s in %q", line, word, got)
			}
		}
	}
	for _, page := range []string{"solehold", "solehold-run", "solehold-serve", "solehold-drill", "solehold-lab", "solehold-cluster", "solehold-cluster-break", "solehold-probe-grpc"} {
		text, err := os.ReadFile(filepath.Join(share, "man1", page+".1"))
		if err != nil || !bytes.Contains(text, []byte(".SH SYNOPSIS")) {
			t.Errorf("%s: %v", page, err)
		}
	}
	must(t, os.Remove(filepath.Join(bin, "solehold-serve")))
	if got := press(t, bin, script, "solehold s"); slices.Contains(got, "serve") || !slices.Contains(got, "status") {
		t.Errorf("without solehold-serve: %q", got)
	}
}
