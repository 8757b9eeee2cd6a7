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
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/procfs"
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
		{"waits.txt", (*scene).waits},
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
// returns it. The incident is returned as far as it was taken also with an
// error, which says that it could not be written whole.
func Take(ctx context.Context, state *os.Root, r Request) (Incident, error) {
	if r.Limit <= 0 {
		r.Limit = DefaultLimit
	}
	if r.Bytes <= 0 {
		r.Bytes = DefaultBytes
	}
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	start := time.Now()
	in := Incident{Time: start.UTC(), Subject: r.Subject, Reason: r.Reason, Token: r.Token, PIDs: r.PIDs}
	s := &scene{r: r, proc: procfs.Default()}
	w, writeErr := newFolder(state, &in, r.Bytes)
	in.Finding = s.finding(ctx, &in)
	for _, p := range parts() {
		text, err := s.bounded(ctx, p)
		if err != nil {
			in.Missing = append(in.Missing, fmt.Sprintf("%s: %v", p.name, err))
		}
		if err := w.write(p.name, text); err != nil {
			in.Missing = append(in.Missing, fmt.Sprintf("%s: not written: %v", p.name, err))
			writeErr = errors.Join(writeErr, err)
		}
	}
	in.Took = time.Since(start).Seconds()
	meta, err := json.MarshalIndent(in, "", "  ")
	writeErr = errors.Join(writeErr, err, w.write(summaryName, summary(in, r)), w.write(metaName, string(meta)+"\n"))
	prune(state, in.ID)
	return in, writeErr
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

// folder is a new incident on the disk.
type folder struct {
	root *os.Root // nil where it could not be made
	name string
	left int64
}

// newFolder makes incidents/<utc>-<n>.
func newFolder(state *os.Root, in *Incident, limit int64) (*folder, error) {
	f := &folder{left: limit}
	stamp := in.Time.Format("20060102T150405Z")
	in.ID = stamp + "-1"
	if err := state.Mkdir(Folder, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	for n := 1; n < 100; n++ {
		name := fmt.Sprintf("%s-%d", stamp, n)
		err := state.Mkdir(path.Join(Folder, name), 0o750)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			in.ID, f.root, f.name = name, state, path.Join(Folder, name)
		}
		return f, err
	}
	return f, fs.ErrExist
}

// write saves one file, cut where the incident is full.
func (f *folder) write(name, text string) error {
	if f.root == nil {
		return errors.New("there is no folder for it")
	}
	if int64(len(text)) > f.left {
		text = text[:f.left] + "\n(cut: the incident is full)\n"
	}
	f.left = max(0, f.left-int64(len(text)))
	return f.root.WriteFile(path.Join(f.name, name), []byte(text), 0o640)
}

// List returns the incidents of a state directory, oldest first. Folders that
// hold none are left out.
func List(state fs.FS) ([]Incident, error) {
	entries, err := fs.ReadDir(state, Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Incident
	for _, e := range entries {
		in, err := Load(state, e.Name())
		if err == nil {
			all = append(all, in)
		}
	}
	slices.SortFunc(all, func(a, b Incident) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// Load reads one incident's description.
func Load(state fs.FS, id string) (Incident, error) {
	var in Incident
	if id == "" || strings.ContainsAny(id, `/\`) || id == ".." || id == "." {
		return in, fmt.Errorf("%q is not the name of an incident", id)
	}
	text, err := fs.ReadFile(state, path.Join(Folder, id, metaName))
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return in, fmt.Errorf("incident %s: %w", id, err)
	}
	in.ID = id
	return in, nil
}

// prune removes the oldest incidents beyond the bounds, never the new one.
func prune(state *os.Root, newest string) {
	fsys := state.FS()
	entries, err := fs.ReadDir(fsys, Folder)
	if err != nil {
		return
	}
	var total int64
	for i := len(entries) - 1; i >= 0; i-- {
		name := entries[i].Name()
		total += size(fsys, path.Join(Folder, name))
		if name != newest && (len(entries)-i > Keep || total > KeepBytes) {
			state.RemoveAll(path.Join(Folder, name))
		}
	}
}

func size(fsys fs.FS, dir string) (n int64) {
	entries, _ := fs.ReadDir(fsys, dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}
