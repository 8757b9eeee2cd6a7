package lab

import (
	"context"
	"io"
	"strings"
)

// WithoutCause runs the experiment without the act that makes the difference.
func (e Experiment) WithoutCause(ctx context.Context) Result { return e.trial(ctx, false) }

// Judge is what the experiment would say of a run that has seen this.
func (e Experiment) Judge(seen map[string]string, missing, failed string) Result {
	return e.judge(report{seen, missing, failed}, 0)
}

// Lacking is the experiment where something is missing that it needs.
func (e Experiment) Lacking(what, get string) Experiment {
	e.needs = append(e.needs, need{what, get, func() bool { return false }})
	return e
}

// Failing is an experiment that goes as do says, which is given a directory, a way to start a process that waits for
// orders, and a way to give up.
func Failing(do func(dir string, start func() int, fail func(error))) Experiment {
	return Experiment{Name: "failing", run: func(b *bench) {
		do(b.dir, func() int { return b.actor().pid }, b.fail)
	}}
}

// Text is what is printed of a result.
func (r *Result) Text() string {
	var b strings.Builder
	r.print(&b)
	return b.String()
}

// Tally gives the exit code and the last line for these outcomes.
func Tally(all []Outcome) (int, string) {
	t := tally{}
	for _, o := range all {
		t[o]++
	}
	return t.code(), t.String()
}

// Wrap and Progress are the printing of texts, and of what takes time.
func Wrap(text, indent string, width int) string { return wrap(text, indent, width) }

// Progress is progress.
func Progress(w io.Writer, terminal bool, what string) func() { return progress(w, terminal, what) }
