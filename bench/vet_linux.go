package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/bench/internal/turn"
)

// vetTargets are what `solehold vet` is to cost.
func vetTargets() []report.Target {
	return []report.Target{
		{Text: "solehold vet over the standard library < 3x go vet, elapsed", Limit: 3, Row: "vet/elapsed", Ratio: true},
		{Text: "the same, processor time", Limit: 3, Row: "vet/cpu", Ratio: true},
	}
}

// vet measures `solehold vet` beside `go vet`, both run by the go command over the
// standard library. What is compiled for them is in the cache of the go command after
// the first round, which is not counted; what they found before is not: each run has
// a tool that the go command does not know yet.
func (b *bench) vet() error {
	dir, err := b.place("vet")
	if err != nil {
		return err
	}
	what, rounds := "std", 3
	if b.quick {
		what, rounds = "encoding/...", 1
	}
	ours, err := vetTool(dir, "ours", "..", "./cmd/solehold-vet")
	if err != nil {
		return err
	}
	// The go command itself leaves unsafeptr out in the standard library.
	other, err := vetTool(dir, "go", ".", "cmd/vet", "-unsafeptr=false")
	if err != nil {
		return err
	}
	elapsed, cpu := []turn.Series{{}, {}}, []turn.Series{{}, {}}
	for round := range rounds + 1 {
		for i, tool := range []*vetter{ours, other} {
			if err := tool.run(what); err != nil {
				return err
			}
			if round > 0 {
				elapsed[i].Samples = append(elapsed[i].Samples, float64(tool.elapsed))
				cpu[i].Samples = append(cpu[i].Samples, float64(tool.cpu))
			}
		}
	}
	b.add("vet/elapsed", "go vet -vettool=solehold-vet "+what+": go vet", elapsed)
	b.add("vet/cpu", "the same, processor time", cpu)
	b.note("solehold vet reports %d, go vet %d", ours.reports, other.reports)
	return nil
}

// vetter runs one tool.
type vetter struct {
	program string
	flags   []string
	// Of the last run.
	elapsed, cpu time.Duration
	reports      int
}

func vetTool(dir, name, from, source string, flags ...string) (*vetter, error) {
	v := &vetter{program: filepath.Join(dir, name), flags: flags}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", v.program, source)
	cmd.Dir, cmd.Env = from, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s does not build: %s", source, strings.TrimSpace(string(out)))
	}
	return v, nil
}

// anew copies the tool so that the go command takes it for another one: it knows
// ours by its bytes, and that of a released Go by its name.
func (v *vetter) anew() (string, error) {
	text, err := os.ReadFile(v.program)
	if err != nil {
		return "", err
	}
	name := rand.Text()
	next := v.program + name
	return next, os.WriteFile(next, append(text, name...), 0o700)
}

// run vets the packages and counts what is reported.
func (v *vetter) run(what string) error {
	tool, err := v.anew()
	if err != nil {
		return err
	}
	defer os.Remove(tool)
	cmd := exec.Command("go", append(append([]string{"vet", "-vettool=" + tool}, v.flags...), what)...)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	v.elapsed = time.Since(begin)
	var ended *exec.ExitError
	if err != nil && !(errors.As(err, &ended) && ended.ExitCode() == 1) {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	v.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	v.reports = 0
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "#") {
			v.reports++
		}
	}
	return nil
}
