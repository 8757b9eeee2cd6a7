package archtest_test

import (
	"fmt"
	"strings"
	"testing"
)

// inCode writes text as code in a sentence; a raw string cannot.
func inCode(text string) string { return "See `" + text + "`.\n" }

// TestPathsInDocuments has names that are and are not paths of this repository.
func TestPathsInDocuments(t *testing.T) {
	const files = `
-- internal/oslock/oslock_linux.go --
package oslock
-- internal/record/record.go --
package record
-- docs/protocol.md --
-- scripts/deps.sh --
`
	for text, ok := range map[string]bool{
		"internal/oslock":                   true,
		"internal/oslock/":                  true,
		"internal/oslock/...":               true,
		"internal/oslock/oslock_linux.go":   true,
		"oslock_linux.go":                   true,
		"internal/{oslock,record}":          true,
		"internal/{oslock,record}/*.go":     true,
		"docs/protocol.md":                  true,
		"scripts/deps.sh":                   true,
		"internal/*":                        true,
		"internal/oslok":                    false,
		"internal/oslock/oslock_windows.go": false,
		"oslock_windows.go":                 false,
		"internal/{oslock,gone}":            false,
		"internal/oslock/*_test.go":         false,
		"docs/gone.md":                      false,
		"GONE.md":                           false,
		"protocol.md":                       false,
		"scripts/gone":                      false,
		"intrenal/oslock":                   false,
		"cluster/[etcd":                     true, // no path has a bracket
		"github.com/solehold/solehold/gone": true,
		"go/analysis":                       true,
		"os/exec":                           true,
		"/usr/bin/gone":                     true,
		"windows/amd64":                     true,
		"<dir>/.solehold/lock":              true,
		".solehold/incidents":               true,
		"go vet ./...":                      true,
		"https://example.com/a.md":          true,
		"solehold":                          true,
		"--health-http":                     true,
	} {
		t.Run(text, func(t *testing.T) {
			var want []string
			if !ok {
				want = []string{"CONTRIBUTING.md:1: docnames: " + text + " does not exist"}
			}
			expect(t, "docnames", "-- CONTRIBUTING.md --\n"+inCode(text)+files, want...)
		})
	}
}

// TestNamesInDocuments has Go names that are and are not exported here.
func TestNamesInDocuments(t *testing.T) {
	const files = `
-- lock.go --
package solehold

type Lock struct{}

const Limit, hidden = 1, 2

func (*Lock) Release() {}

func Acquire() {}
-- lock_test.go --
package solehold

func Helper() {}
`
	for text, ok := range map[string]bool{
		"solehold.Acquire":      true,
		"solehold.Acquire()":    true,
		"solehold.Lock":         true,
		"solehold.Lock.Release": true,
		"solehold.Limit":        true,
		"solehold.Aquire":       false,
		"solehold.Helper":       false,
		"solehold.Gone()":       false,
		"os.Gone":               true, // not ours
		"solehold.hidden":       true, // not exported, not checked
		"solehold.Acquire(ctx)": true, // an expression
	} {
		t.Run(text, func(t *testing.T) {
			var want []string
			if !ok {
				want = []string{"ARCHITECTURE.md:2: docnames: " + text + " does not exist"}
			}
			expect(t, "docnames", "-- ARCHITECTURE.md --\n\n"+inCode(text)+files, want...)
		})
	}
}

// TestTwoNamesOnOneLine also has an unclosed quote.
func TestTwoNamesOnOneLine(t *testing.T) {
	line := strings.Repeat("`a/gone` and ", 2) + "`b/gone` and 'c/gone' and `\n"
	expect(t, "docnames", "-- ARCHITECTURE.md --\n"+line,
		"ARCHITECTURE.md:1: docnames: a/gone does not exist", "ARCHITECTURE.md:1: docnames: a/gone does not exist",
		"ARCHITECTURE.md:1: docnames: b/gone does not exist")
}

const cli = `
-- internal/cli/root.go --
package cli

func commands() []command {
	return []command{{Use: "run DIR -- COMMAND"}, {Use: "status" + " DIR..."}, {Use: name()}}
}
-- cmd/solehold-cluster/main.go --
package main

var claim = command{Use: "claim"}
`

// TestVerbsInReadme has commands that do and do not exist.
func TestVerbsInReadme(t *testing.T) {
	for text, ok := range map[string]bool{
		"solehold run /srv/kb":             true,
		"sudo solehold status":             true,
		"x=$(solehold status)":             true,
		"bin/solehold cluster agent":       true,
		"solehold claim":                   true,
		"solehold completion bash":         true,
		"solehold help run":                true,
		"solehold":                         true,
		"solehold --version":               true,
		"solehold: /srv/kb has an owner":   true,
		"systemctl start solehold.service": true,
		"solehold sieze":                   false,
		"true && solehold web":             false,
		"sudo ./solehold unlock":           false,
	} {
		t.Run(text, func(t *testing.T) {
			var want []string
			if !ok {
				_, verb, _ := strings.Cut(text, "solehold ")
				want = []string{fmt.Sprintf("README.md:1: verbs: no command solehold %s", verb)}
			}
			expect(t, "verbs", "-- README.md --\n"+inCode(text)+cli, want...)
		})
	}
}

// TestVerbsInBlocks: a fenced block is code, the sentences around it are not.
func TestVerbsInBlocks(t *testing.T) {
	const readme = "-- README.md --\nsolehold is prose\n~~~sh\n$ solehold steal /srv\n~~~\nsolehold was prose\n"
	expect(t, "verbs", strings.ReplaceAll(readme, "~~~", "```")+cli, "README.md:3: verbs: no command solehold steal")
}

// TestVerbsWithoutCommands: as long as there is no internal/cli there is nothing to compare with.
func TestVerbsWithoutCommands(t *testing.T) {
	expect(t, "verbs", "-- README.md --\n"+inCode("solehold gone"))
	expect(t, "verbs", "-- README.md --\n"+inCode("solehold gone")+"-- internal/cli/cli.go --\npackage cli\n",
		"README.md:1: verbs: no command solehold gone")
}

// TestVerbsInOtherDocuments: only README.md is compared.
func TestVerbsInOtherDocuments(t *testing.T) {
	expect(t, "verbs", "-- CHANGELOG.md --\n"+inCode("solehold gone")+cli)
}
