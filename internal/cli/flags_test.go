package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verbs lists the commands that do something, by their names.
func verbs() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		if !c.HasSubCommands() {
			all[strings.TrimPrefix(c.CommandPath(), "solehold ")] = c
		}
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(cli.Root())
	return all
}

// Only the wait for an owner may be without a limit. Elsewhere "forever" would be
// no time at all: a service that must have failed forever was killed at once.
func TestForever(t *testing.T) {
	t.Parallel()
	var patient []string
	for name, c := range verbs() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "duration" && f.Value.Set("forever") == nil {
				patient = append(patient, name+" --"+f.Name)
				if f.Value.String() != "forever" {
					t.Errorf("%s --%s forever is told as %s", name, f.Name, f.Value)
				}
			}
		})
	}
	patient = slices.DeleteFunc(patient, func(flag string) bool { return strings.HasPrefix(flag, "unit ") && strings.HasSuffix(flag, " --wait") }) // it is run's
	slices.Sort(patient)
	if got := strings.Join(patient, ", "); got != "release --timeout, run --wait" {
		t.Errorf("without a limit: %s", got)
	}
}

// Times are what the flags of supervisors take.
func TestTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"30": "30s", "0.5": "500ms", "30s": "30s", "1m30s": "1m30s", "0": "0s", "1e3": "16m40s",
		"": "", "-1": "", "-1s": "", "soon": "", "NaN": "", "Inf": "", "1e300": "", "1 s": "", "10h5": "",
	} {
		f := verbs()["run"].Flags().Lookup("grace")
		err := f.Value.Set(text)
		if got := f.Value.String(); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: %s, %v; want %q", text, got, err, want)
		}
	}
}

// Whoever knows one verb knows the others: a directory may have its files
// elsewhere, and may lie on a disk that does not answer; the help has an example
// and all exit codes.
func TestVerbsAreAlike(t *testing.T) {
	t.Parallel()
	const state, timeout = "state string", "timeout duration"
	for name, c := range verbs() {
		if name == "version" || strings.HasPrefix(name, "completion") || name == "doctor explain" || name == "unit check" {
			continue
		}
		if !strings.Contains(c.Example, "solehold "+name) {
			t.Errorf("%s: no example", name)
		}
		if !strings.Contains(c.Long, "Exit codes:\n") {
			t.Errorf("%s: no exit codes", name)
		}
		var has []string
		c.Flags().VisitAll(func(f *pflag.Flag) { has = append(has, f.Name+" "+f.Value.Type()) })
		if _, args, _ := strings.Cut(c.Use, " "); strings.HasPrefix(args, "DIR") && !slices.Contains(has, state) {
			t.Errorf("%s: no --state", name)
		}
		if name != "root path" && !slices.Contains(has, timeout) {
			t.Errorf("%s: no --timeout", name)
		}
	}
}
