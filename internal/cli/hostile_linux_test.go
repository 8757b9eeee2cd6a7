package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/solehold/solehold/internal/cli"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/record"
	"github.com/solehold/solehold/internal/testneed"
)

// hostile is text that a terminal would obey: a title, colours, a C1 control
// sequence, a new line, a carriage return and a turn of the writing direction.
const hostile = "x\x1b]0;owned\a\x1b[2J\u009b31m\nHELD fake\r\b\u202etxt\u2028y\x00\x7f"

// wantHarmless checks what would reach a terminal: one kind of control character
// is allowed, the end of a line.
func wantHarmless(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%s: %q reaches the terminal in %q", what, r, text)
		}
	}
	if strings.Contains(text, "\nHELD fake") {
		t.Errorf("%s: a line was forged in %q", what, text)
	}
	if !strings.Contains(text, "fake") {
		t.Errorf("%s: nothing of the text is shown: %q", what, text)
	}
}

// everyView checks all that is said of a directory, for people and for programs.
func everyView(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"status"}, {"history"}, {"status", "--json"}, {"history", "--json"}} {
		r := ask(append(args, dir)...)
		wantHarmless(t, strings.Join(args, " "), r.stdout+r.stderr)
	}
}

// Whoever may write a record or a history chooses its text.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	abandon(t, dir)
	data, err := os.ReadFile(lockFile(dir))
	must(t, err)
	r, err := record.Decode(data)
	must(t, err)
	r.Name, r.Mount.Type, r.State = hostile, hostile, record.State(strings.ReplaceAll(hostile, "\n", " "))
	r.Holder.Host, r.Holder.Exe, r.Holder.Command = hostile, hostile, []string{hostile}
	r.Holder.Origin = record.Origin{By: hostile, Unit: hostile, Container: hostile}
	r.State = record.Starting
	slot := record.NewEncoder(r.Holder).Encode(r)
	must(t, os.WriteFile(lockFile(dir), append(slot, slot...), 0o600))
	event := journal.Event{
		Time: time.Now(), Kind: journal.Kind(hostile), Token: 1, PID: 1, Name: hostile, By: hostile, Detail: hostile, Class: hostile, Signal: hostile, Host: hostile,
	}
	text, err := json.Marshal(event)
	must(t, err)
	event.Kind = journal.Vanished
	more, err := json.Marshal(event)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, ".solehold", journal.Name), append(append(append(text, '\n'), more...), '\n'), 0o600))
	everyView(t, dir)
}

// So does whoever starts a command, and who makes a directory.
func TestHostileCommand(t *testing.T) {
	t.Parallel()
	name := strings.NewReplacer("\x00", "", "\x7f", "").Replace(hostile)
	dir := filepath.Join(dataDir(t), name)
	must(t, os.Mkdir(dir, 0o755))
	hold(t, dir, "sh", "-c", "read x <fifo; exec sleep 300", name)
	everyView(t, dir)
	r := program(t, "solehold", "run", dir, "--", "true")
	wantHarmless(t, "run", r.stderr)
	r = program(t, "solehold", "run", "--json", dir, "--", "true")
	wantHarmless(t, "run --json", r.stderr)
	r = program(t, "solehold", "run", "--wait", "10ms", dir, "--", "true")
	wantHarmless(t, "run --wait", r.stderr)
	for _, args := range [][]string{{name}, {"status", dir + "/missing"}, {"history", dir + "/missing"}, {"run", dir, "--", name}, {"run", "--" + name}} {
		r := ask(args...)
		wantHarmless(t, strings.Join(args, " "), r.stdout+r.stderr)
	}
}

// Colours only where they are welcome; the word alone says the verdict too.
func TestColour(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	var plain, colour bytes.Buffer
	cli.Run(context.Background(), cli.Env{Stdout: &plain, Stderr: &plain}, []string{"status", dir})
	cli.Run(context.Background(), cli.Env{Stdout: &colour, Stderr: &colour, Color: true}, []string{"status", dir})
	if want := "\x1b[1mFREE     \x1b[0m"; !strings.HasPrefix(colour.String(), want) || strings.ContainsRune(plain.String(), 0x1b) {
		t.Errorf("%q and %q", plain.String(), colour.String())
	}
	if got := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(colour.String()); got != plain.String() {
		t.Errorf("%q and %q", got, plain.String())
	}
}

// On a terminal, NO_COLOR and TERM=dumb refuse them.
func TestNoColour(t *testing.T) {
	script := testneed.Program(t, "script", "apt-get install bsdutils")
	t.Parallel()
	dir := dataDir(t)
	for env, want := range map[string]bool{"TERM=xterm": true, "NO_COLOR=1": false, "NO_COLOR=": false, "TERM=dumb": false} {
		cmd := exec.Command(script, "-qec", "solehold status "+dir, "/dev/null")
		cmd.Env = append(os.Environ(), "TERM=xterm", env)
		if r := finished(t, cmd); strings.ContainsRune(r.stdout, 0x1b) != want || !strings.Contains(r.stdout, "FREE") {
			t.Errorf("%s: %q", env, r.stdout)
		}
	}
}
