package supervise

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/policy"
)

// takeEvidence looks at the tree before anything is done to it, on a goroutine
// of its own: signals go on to be passed.
func (r *runner) takeEvidence(c policy.Command) {
	answers, silent := r.prober.history(r.started)
	pids := []int{r.child.pid}
	for _, pid := range r.tree.pids() {
		if pid != r.child.pid {
			pids = append(pids, pid)
		}
	}
	request := evidence.Request{
		Subject: r.lock.Dir(), Reason: c.Detail, Token: r.lock.Token(), PIDs: pids, Silent: silent, Probe: answers,
	}
	go func() {
		s := saveEvidence(r.memory.root, request, r.output.kept)
		s.command = c
		select {
		case r.saved <- s:
		case <-r.done:
		}
	}()
}

// savedIncident is what came of taking evidence.
type savedIncident struct {
	evidence.Incident
	err     error
	command policy.Command // that asked for it
}

// evidenceLimit is when a place that does not answer is given up: what must be
// stopped is stopped, evidence or not.
const evidenceLimit = evidence.DefaultLimit + 2*time.Second

// outputLimit is how long the end of the output may take to be read.
const outputLimit = time.Second

// saveEvidence takes an incident, and ends in time whatever happens.
func saveEvidence(place func() (*os.Root, error), request evidence.Request, output func() []byte) savedIncident {
	s, ok := within(evidenceLimit, func() savedIncident {
		// The output may go to a file that hangs, and the rest is worth saving.
		request.Output, _ = within(outputLimit, output)
		root, err := place()
		if err != nil {
			return savedIncident{err: err}
		}
		defer root.Close()
		in, err := evidence.Take(context.Background(), root, request)
		return savedIncident{Incident: in, err: err}
	})
	if !ok {
		s.err = fmt.Errorf("the place of the evidence did not answer within %s", evidenceLimit)
	}
	return s
}

// saw tells of an incident, and then the machine: what follows from it comes
// after it in the history.
func (r *runner) saw(s savedIncident) {
	r.relieve()
	defer func() { r.feed(policy.Input{Kind: policy.EvidenceDone, For: s.command.ID, Reason: s.command.Detail}) }()
	r.incident = s.ID
	e := incidentEvent(s, r.c.Say)
	e.Name = solehold.CommandLine(r.c.Command)
	if r.child != nil {
		e.PID = r.child.pid
	}
	r.log(e)
}

// incidentEvent says an incident to people, and returns it for the history.
func incidentEvent(s savedIncident, say func(string, ...any)) solehold.Event {
	detail := s.ID + ": " + s.Finding
	switch {
	case s.ID == "":
		detail = fmt.Sprintf("no evidence could be saved: %v", s.err)
	case s.err != nil:
		detail += fmt.Sprintf(" (not saved whole: %v)", s.err)
	}
	say("evidence: %s", detail)
	return solehold.Event{Kind: journal.Incident, Detail: detail}
}

// lastWords adds what the command printed while it was stopped to the incident
// that it was stopped for. The last of it may still be in the pipe.
func (r *runner) lastWords(id string) {
	root, err := r.memory.root()
	if err != nil {
		return
	}
	r.words.Go(func() {
		defer root.Close()
		r.output.settle()
		finding, err := evidence.Amend(root, id, r.output.kept())
		if err != nil {
			r.c.Say("what it printed when it was stopped could not be added to incident %s: %v", id, err)
			return
		}
		r.log(solehold.Event{Kind: journal.Incident, Detail: id + ": " + finding})
	})
}
