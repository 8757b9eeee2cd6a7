package lease_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/lease"
)

var update = flag.Bool("update", false, "write what was given into the scripts")

// script is a file of lines. A line with a tab in front is what came of the line before it; -update writes these.
//
//	# a comment
//	config ttl=10s grace=2s delay=2s no-verify      a new machine
//	at 10s acked renew                              an answer to the last command of that name; "renew-1" is the one before
//	at 10s claimed claim=1 token=7 unclean delay=3s an answer to the last ask
//	at 10s stopped claim=1
type script struct {
	m       *lease.Machine
	out     lease.Guard
	last    map[string][]uint64
	reports []string
}

// runScript gives the script as it should be, by a machine without one guard.
func runScript(text string, out lease.Guard) (string, error) {
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
		if err := s.line(strings.Fields(line)); err != nil {
			return "", fmt.Errorf("line %d: %s: %w", i+1, line, err)
		}
		for _, r := range s.reports {
			fmt.Fprintf(&b, "\t%s\n", r)
		}
		s.reports = nil
	}
	return b.String(), nil
}

func (s *script) line(words []string) error {
	switch words[0] {
	case "config":
		return s.restart(words[1:])
	case "at":
		return s.at(words[1:])
	}
	return fmt.Errorf("no such line")
}

func (s *script) restart(words []string) error {
	var c lease.Config
	times := map[string]*time.Duration{"ttl": &c.TTL, "grace": &c.Grace, "delay": &c.Delay}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		if w == "no-verify" {
			c.NoVerify = true
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil || times[key] == nil {
			return fmt.Errorf("%s: %v", w, err)
		}
		*times[key] = d
	}
	m, err := lease.New(c, 0)
	if err != nil {
		s.reports = append(s.reports, err.Error())
		return nil
	}
	m.Without(s.out)
	s.m, s.last = m, map[string][]uint64{}
	return nil
}

func (s *script) at(words []string) error {
	now, err := time.ParseDuration(words[0])
	if err != nil {
		return err
	}
	in, err := s.input(words[1:])
	if err != nil {
		return err
	}
	before := s.m.State()
	for _, c := range s.m.Step(now, in) {
		s.reports = append(s.reports, c.String())
		s.last[c.Op.String()] = append(s.last[c.Op.String()], c.ID)
	}
	if after := s.m.State(); after != before {
		s.reports = append(s.reports, "= "+after.String())
	}
	return nil
}

// input reads the words of an input.
func (s *script) input(words []string) (lease.Input, error) {
	in := lease.Input{Clean: true}
	for ; in.Kind.String() != words[0]; in.Kind++ {
		if in.Kind == lease.Tick {
			return in, fmt.Errorf("no input is called %s", words[0])
		}
	}
	switch in.Kind {
	case lease.Granted:
		in.For = s.answer("grant")
	case lease.Claimed, lease.Refused:
		in.For = s.answer("ask")
	}
	for _, w := range words[1:] {
		if err := s.qualify(&in, w); err != nil {
			return in, err
		}
	}
	return in, nil
}

// answer gives the ID of a command: the last of its name, or one before.
func (s *script) answer(name string) uint64 {
	name, back, _ := strings.Cut(name, "-")
	n, _ := strconv.Atoi(back)
	all := s.last[name]
	if i := len(all) - 1 - n; i >= 0 {
		return all[i]
	}
	return 0
}

func (s *script) qualify(in *lease.Input, word string) error {
	key, value, _ := strings.Cut(word, "=")
	var err error
	switch key {
	case "claim":
		in.Claim, err = strconv.ParseUint(value, 10, 64)
	case "token":
		in.Token, err = strconv.ParseUint(value, 10, 64)
	case "floor":
		in.Floor, err = strconv.ParseUint(value, 10, 64)
	case "ttl":
		in.TTL, err = time.ParseDuration(value)
	case "delay":
		in.Delay, err = time.ParseDuration(value)
	case "unclean":
		in.Clean = false
	default:
		if in.For = s.answer(key); in.For == 0 {
			err = fmt.Errorf("no command %s was given", key)
		}
	}
	return err
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
