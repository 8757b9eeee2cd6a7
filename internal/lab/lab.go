package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/solehold/solehold"
)

// Experiment is one mistaken claim or one classic failure.
type Experiment struct {
	// Name is the word for it on the command line, and of its page.
	Name string
	// Title is what it is about, in one line.
	Title string
	// Believed is what many take for true.
	Believed string
	// Happens is what the kernel, or the program, does instead.
	Happens string
	// Advice is what to do.
	Advice string
	// Facts are what is measured, in the order of the experiment.
	Facts []Fact

	needs []need
	apart apart
	run   func(*bench)
}

// Fact is one thing that an experiment measures.
type Fact struct {
	// What says what is measured.
	What string
	// Want is what the text of the experiment says; empty for a figure that differs from run to run.
	Want string
}

// Measured is a [Fact] of one run.
type Measured struct {
	// What says what was measured.
	What string `json:"what"`
	// Got is what was seen; empty if the run did not come so far.
	Got string `json:"got"`
	// Want is what the text says; empty for a figure.
	Want string `json:"want,omitempty"`
}

// Holds says whether it came out as the text says.
func (m Measured) Holds() bool { return m.Got != "" && (m.Want == "" || m.Got == m.Want) }

// Outcome is the verdict on one run.
type Outcome string

const (
	// AsDescribed means that every fact came out as the text says.
	AsDescribed Outcome = "as described"
	// Otherwise means that at least one did not: this machine differs, or the text is wrong.
	Otherwise Outcome = "otherwise"
	// NotRun means that something is missing here, which is named.
	NotRun Outcome = "not run"
	// Failed means that the experiment broke off, so that nothing can be said.
	Failed Outcome = "failed"
)

// Result is one run of an experiment.
type Result struct {
	// Name is that of the experiment.
	Name string `json:"name"`
	// Title is that of the experiment.
	Title string `json:"title"`
	// Outcome is the verdict.
	Outcome Outcome `json:"outcome"`
	// Believed is the claim.
	Believed string `json:"believed"`
	// Happens is what happens instead.
	Happens string `json:"happens"`
	// Measured are the facts and figures of this run.
	Measured []Measured `json:"measured"`
	// Advice is what to do.
	Advice string `json:"advice"`
	// Missing is what the experiment needs and this machine or user does not have.
	Missing string `json:"missing,omitempty"`
	// Error is why it broke off.
	Error string `json:"error,omitempty"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// missingError is something that an experiment needs.
type missingError struct{ what, get string }

func (e *missingError) Error() string { return fmt.Sprintf("needs %s; get it: %s", e.what, e.get) }

// report is what a run has seen; it crosses from the process in namespaces of its own.
type report struct {
	Got     map[string]string
	Missing string
	Error   string
}

// judge compares what a run has seen with what the experiment says.
func (e *Experiment) judge(r report, took time.Duration) Result {
	res := Result{
		Name: e.Name, Title: e.Title, Believed: e.Believed, Happens: e.Happens, Advice: e.Advice,
		Outcome: AsDescribed, Missing: r.Missing, Error: oneLine(r.Error), Seconds: took.Seconds(),
	}
	for _, f := range e.Facts {
		m := Measured{What: f.What, Got: r.Got[f.What], Want: f.Want}
		res.Measured = append(res.Measured, m)
		if !m.Holds() {
			res.Outcome = Otherwise
		}
	}
	switch {
	case r.Missing != "":
		res.Outcome = NotRun
	case r.Error != "":
		res.Outcome = Failed
	}
	return res
}

// oneLine makes a text that programs and the kernel have had a part in harmless for a terminal.
func oneLine(text string) string {
	return solehold.Printable(strings.Join(strings.Fields(text), " "))
}

// find returns the experiments that are named, or all if none is.
func find(all []Experiment, names []string) ([]Experiment, error) {
	if len(names) == 0 {
		return all, nil
	}
	var found []Experiment
	for _, name := range names {
		e, ok := byName(all, name)
		if !ok {
			return nil, fmt.Errorf("there is no experiment %q; see solehold lab list", name)
		}
		found = append(found, e)
	}
	return found, nil
}

func byName(all []Experiment, name string) (Experiment, bool) {
	for _, e := range all {
		if e.Name == strings.ToLower(name) {
			return e, true
		}
	}
	return Experiment{}, false
}
