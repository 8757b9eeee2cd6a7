package lab

import (
	"os"
	"os/exec"
	"strings"
)

func lockFileKey() Experiment {
	const (
		says = "systemd-analyze verify of a unit with LockFile="
		code = "its exit code"
		skip = "of a unit with ExecCondition="
	)
	return Experiment{
		Name:     "lockfile-key",
		Title:    "systemd has LockFile=",
		Believed: "A unit with LockFile=/run/kb.lock starts only once.",
		Happens:  "There is no such key. systemd ignores what it does not know, with a warning in the journal, and starts the service without any lock.",
		Advice: "Run the command below `solehold run` (`solehold run --exec` keeps systemd's own protocols unchanged), or ask with ExecCondition=, whose failure skips the start cleanly. " +
			"Verify units with systemd-analyze verify and read its warnings: the exit code may be 0.",
		Facts: []Fact{{says, "unknown, ignored"}, {code, ""}, {skip, "known"}},
		needs: []need{{"systemd-analyze", "apt-get install systemd", func() bool { _, err := exec.LookPath("systemd-analyze"); return err == nil }}},
		run: func(b *bench) {
			key := "PIDFile"
			b.decisive(func() { key = "LockFile" })
			word, n := b.verify(key, key+"=/run/kb.lock")
			b.see(says, word)
			b.see(code, n)
			word, _ = b.verify("ExecCondition", "ExecCondition=/bin/true")
			b.see(skip, word)
		},
	}
}

// verify lets systemd judge a key of a unit.
func (b *bench) verify(key, line string) (word string, code int) {
	b.do(func() (err error) {
		unit := b.path("kb.service")
		if err := os.WriteFile(unit, []byte("[Service]\nExecStart=/bin/true\n"+line+"\n"), 0o600); err != nil {
			return err
		}
		var out strings.Builder
		cmd := exec.CommandContext(b.ctx, "systemd-analyze", "verify", unit)
		cmd.Stdout, cmd.Stderr = &out, &out
		code, err = exitCode(cmd)
		word = "known"
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, key) && strings.Contains(line, "Unknown") && strings.Contains(line, "ignoring") {
				word = "unknown, ignored"
			}
		}
		return err
	})
	return word, code
}
