package policy_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/policy"
)

var update = flag.Bool("update", false, "write what was given into the scripts")

// script is a file of lines. A line with a tab in front is what came of the line before it; -update writes these.
//
//	# a comment
//	config run health restart=always           a new machine; words and key=value
//	memory failures=2 age=3s previous=4s       a new machine that remembers
//	at 10s probe fail: HTTP 503                an input at a time, with a reason
//	at 10s exited 1 #3                         one that is about the command with the ID 3, not the last that fits
//	remember                                   what is to be saved
type script struct {
	m       *policy.Machine
	cfg     policy.Config
	out     policy.Guard
	last    map[policy.Op]uint64
	reports []string
}

// runScript gives the script as it should be, by a machine without one guard.
func runScript(text string, out policy.Guard) (string, error) {
	s := script{out: out}
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		fmt.Fprintln(&b, line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := s.line(line); err != nil {
			return "", fmt.Errorf("line %d: %s: %w", i+1, line, err)
		}
		for _, r := range s.reports {
			fmt.Fprintf(&b, "\t%s\n", r)
		}
		s.reports = nil
	}
	return b.String(), nil
}

func (s *script) line(line string) error {
	line, reason, _ := strings.Cut(line, ": ")
	words := strings.Fields(line)
	switch words[0] {
	case "config":
		cfg, err := configOf(words[1:])
		s.cfg = cfg
		if err != nil {
			return err
		}
		return s.restart(policy.Memory{})
	case "memory":
		mem, err := memoryOf(words[1:])
		if err != nil {
			return err
		}
		return s.restart(mem)
	case "remember":
		s.reports = append(s.reports, fmt.Sprintf("%+v", s.m.Memory()))
		return nil
	case "at":
		return s.at(words[1:], reason)
	}
	return fmt.Errorf("no such line")
}

func (s *script) restart(mem policy.Memory) error {
	m, err := policy.New(s.cfg, mem, 0)
	if err != nil {
		s.reports = append(s.reports, err.Error())
		return nil
	}
	m.Without(s.out)
	s.m, s.last = m, map[policy.Op]uint64{}
	return nil
}

func (s *script) at(words []string, reason string) error {
	now, err := time.ParseDuration(words[0])
	if err != nil {
		return err
	}
	in, err := s.input(words[1:])
	if err != nil {
		return err
	}
	in.Reason = reason
	before := s.m.State()
	for _, c := range s.m.Step(now, in) {
		s.reports = append(s.reports, c.String())
		s.last[c.Op] = max(s.last[c.Op], c.ID)
	}
	if after := s.m.State(); after != before {
		s.reports = append(s.reports, "= "+after.String())
	}
	return nil
}

// input reads the words of an input.
func (s *script) input(words []string) (policy.Input, error) {
	var in policy.Input
	for in.Kind = policy.Begin; in.Kind.String() != words[0]; in.Kind++ {
		if in.Kind == policy.Reset {
			return in, fmt.Errorf("no input is called %s", words[0])
		}
	}
	switch in.Kind {
	case policy.ProbeResult:
		in.For = s.last[policy.Probe]
	case policy.EvidenceDone:
		in.For = s.last[policy.TakeEvidence]
	case policy.ChildStarted, policy.ChildReady, policy.Exited:
		in.For = max(s.last[policy.Start], s.last[policy.StopTree])
	}
	in.TreeDead = in.Kind == policy.Exited
	for _, word := range words[1:] {
		if err := qualify(&in, word); err != nil {
			return in, err
		}
	}
	return in, nil
}

// scripts gives the scripts by name.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.script")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".script")] = string(text)
	}
	return all
}

// TestScripts runs the scripts in testdata.
func TestScripts(t *testing.T) {
	for name, want := range scripts(t) {
		t.Run(name, func(t *testing.T) {
			got, err := runScript(want, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got == want {
				return
			}
			if !*update {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
			if err := os.WriteFile(filepath.Join("testdata", name+".script"), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}
