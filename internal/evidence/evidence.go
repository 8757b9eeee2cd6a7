// Package evidence saves what a hung or failing service looks like, before
// anybody kills it: its processes and threads and what they wait for, the locks
// they hold and want, descriptors, sockets, memory, the answers of the probes
// and the last lines of output.
//
// Taking it is bounded in time and in bytes. A part that cannot be had says so
// in its place; an incident is never refused because a part is missing.
package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// Folder is where the incidents lie in a state directory.
	Folder = "incidents"
	// DefaultLimit is how long taking evidence may last.
	DefaultLimit = 10 * time.Second
	// DefaultBytes is how much one incident may hold.
	DefaultBytes = 16 << 20
	// Keep is how many incidents stay, and KeepBytes how much they hold together.
	Keep = 20
	// KeepBytes is the bound of all incidents of one directory.
	KeepBytes = 128 << 20

	metaName    = "incident.json"
	summaryName = "summary.md"
)

// Request says what happened and whom it is about.
type Request struct {
	// Subject is the data directory.
	Subject string
	// Reason is what led to it, in words.
	Reason string
	// Token is the fencing token of the holder.
	Token uint64
	// PIDs are the processes of the service, the first one first.
	PIDs []int
	// Silent is how long it has not answered.
	Silent time.Duration
	// Probe lists the last answers of the probe, oldest first.
	Probe []string
	// Output is the end of what the service printed.
	Output []byte
	// Limit and Bytes bound the taking; zero means the defaults.
	Limit time.Duration
	// Bytes bounds the size of the incident.
	Bytes int64
}

// Incident is a saved one.
type Incident struct {
	// ID is the name of its folder.
	ID string `json:"id"`
	// Time is when it was taken.
	Time time.Time `json:"time"`
	// Took is how long that lasted, in seconds.
	Took float64 `json:"took"`
	// Subject is the data directory.
	Subject string `json:"subject"`
	// Reason is what led to it.
	Reason string `json:"reason"`
	// Token is the fencing token of the holder.
	Token uint64 `json:"token,omitempty"`
	// PIDs are the processes it is about.
	PIDs []int `json:"pids"`
	// Finding is the one sentence that says what was seen.
	Finding string `json:"finding"`
	// Copies says that the same program runs on the directory more than once.
	Copies string `json:"copies,omitempty"`
	// Missing lists the parts that could not be had, each with its reason.
	Missing []string `json:"missing,omitempty"`
}

// part is one file of an incident.
type part struct {
	name string
	make func(*scene) (string, error)
}

// parts lists them in the order of their worth: time may run out.
func parts() []part {
	return []part{
		{"waits.txt", (*scene).graph},
		{"processes.txt", (*scene).processes},
		{"threads.txt", (*scene).threads},
		{"locks.txt", (*scene).locks},
		{"probe.txt", (*scene).probe},
		{"output.txt", (*scene).output},
		{"descriptors.txt", (*scene).descriptors},
		{"sockets.txt", (*scene).sockets},
		{"memory.txt", (*scene).memory},
		{"environment.txt", (*scene).environment},
	}
}

// Take saves an incident below state, the directory of solehold's files, and
// returns it. It returns after r.Limit at the latest, whatever hangs. The
// incident is returned as far as it was taken also with an error, which says
// that it could not be written whole.
func Take(ctx context.Context, state *os.Root, r Request) (Incident, error) {
	if r.Limit <= 0 {
		r.Limit = DefaultLimit
	}
	if r.Bytes <= 0 {
		r.Bytes = DefaultBytes
	}
	// Looking gets three fifths; the disk one before that and one after.
	look, cancel := context.WithTimeout(ctx, r.Limit*3/5)
	defer cancel()
	start := time.Now()
	in := Incident{Time: start.UTC(), Subject: printable(r.Subject), Reason: printable(r.Reason), Token: r.Token, PIDs: r.PIDs}
	s := newScene(r)
	f := newFolder(state, &in, r)
	in.Finding = s.ask(look, &in, part{"finding", (*scene).sentence}, s.name()+".")
	in.Copies = s.ask(look, &in, part{"copies", (*scene).copies}, "")
	f.describe(in, r) // what is on the disk is there also if this process is killed now
	for _, p := range parts() {
		text, err := s.bounded(look, p)
		if err != nil {
			in.Missing = append(in.Missing, fmt.Sprintf("%s: %v", p.name, err))
		}
		if err := f.write(p.name, text); err != nil {
			in.Missing = append(in.Missing, fmt.Sprintf("%s: not written: %v", p.name, err))
		}
	}
	in.Took = time.Since(start).Seconds()
	f.describe(in, r)
	f.prune(in.ID)
	return in, f.err
}

// ask makes one short text, or says what is missing in its place.
func (s *scene) ask(ctx context.Context, in *Incident, p part, otherwise string) string {
	text, err := s.bounded(ctx, p)
	if err != nil {
		in.Missing = append(in.Missing, p.name+": "+err.Error())
		return otherwise
	}
	return text
}

// bounded makes one part, but waits no longer than the context: reading /proc
// of a process that is stuck in the kernel can hang.
func (s *scene) bounded(ctx context.Context, p part) (string, error) {
	type outcome struct {
		text string
		err  error
	}
	if ctx.Err() != nil {
		return "", errors.New("the time was over")
	}
	done := make(chan outcome, 1)
	go func() {
		text, err := p.make(s)
		done <- outcome{text, err}
	}()
	select {
	case o := <-done:
		return o.text, o.err
	case <-ctx.Done():
		return "", errors.New("did not answer in time")
	}
}
