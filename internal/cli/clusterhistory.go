package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/journal"
)

// clusterPatience is how long the engine may take to tell what happened elsewhere:
// the history of the directory is told without it too.
const clusterPatience = 2 * time.Second

// elsewhere begins what is told of an event on another host.
const elsewhere = "elsewhere: "

// withCluster adds to the events of a directory those that its engine knows of other
// hosts. What cannot be had is a note.
func withCluster(ctx context.Context, dir, state string, events []journal.Event) ([]journal.Event, []string) {
	at, err := engineOf(dir, state)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, datadir.ErrNoState), errors.Is(err, errors.ErrUnsupported):
		return events, nil
	case err != nil:
		return events, []string{"what happened on other hosts is not shown: " + err.Error()}
	}
	lives, notes, err := livesAt(ctx, at)
	if err != nil {
		return events, []string{"what happened on other hosts is not shown: " + err.Error()}
	}
	events, more := joinLives(events, lives)
	return events, append(notes, more...)
}

// engineOf reads where the lock of the directory is. A file of somebody else could
// send us, and the secrets of our files, to any engine.
func engineOf(dir, state string) (at journal.Engine, err error) {
	s, err := datadir.StateOf(dir, state)
	if err != nil {
		return at, err
	}
	defer s.Close()
	at, st, err := journal.ReadEngine(s)
	if err != nil {
		return at, err
	}
	if !oursOrRoots(st) {
		return at, fmt.Errorf("the file that names the engine is%s: solehold history --cluster URL NAME asks the one that you name", ownerOf(st))
	}
	return at, nil
}

// livesAt asks the companion, which has the clients of the engines. What it says
// besides are notes.
func livesAt(ctx context.Context, at journal.Engine) (lives []cluster.Life, notes []string, err error) {
	path, ok := findCompanion(clusterProgram)
	if !ok {
		return nil, nil, errNoCluster
	}
	ctx, cancel := context.WithTimeout(ctx, 2*clusterPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "history", "--json", "--timeout", clusterPatience.String(), "--cluster", at.URL, "--", at.Name)
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	for line := range strings.Lines(errs.String()) {
		notes = append(notes, strings.TrimSpace(strings.TrimPrefix(line, clusterProgram+": ")))
	}
	if err != nil {
		return nil, nil, errors.New(strings.Join(append(notes, err.Error()), "; "))
	}
	for line := range strings.Lines(out.String()) {
		var l cluster.Life
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return nil, nil, fmt.Errorf("%s says what is not understood: %w", path, err)
		}
		lives = append(lives, l)
	}
	return lives, notes, nil
}

// tokenOf reads the token of the cluster in an event about its lock.
func tokenOf(e journal.Event) uint64 {
	if !strings.HasPrefix(e.Detail, journal.OfCluster) {
		return 0
	}
	_, text, _ := strings.Cut(e.Detail, ", token ")
	text, _, _ = strings.Cut(text, ":")
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// joinLives adds the lives of other hosts to the events of this directory, which tells
// of its own: they are in the order of time. It says where the two disagree.
func joinLives(events []journal.Event, lives []cluster.Life) ([]journal.Event, []string) {
	ours := map[uint64]journal.Kind{} // how each of ours ended here: Acquired is not at all
	last := uint64(0)
	for _, e := range events {
		switch n := tokenOf(e); {
		case n != 0:
			ours[n], last = e.Kind, n
		case e.Kind == journal.Released && ours[last] == journal.Acquired:
			ours[last] = journal.Released
		}
	}
	var notes []string
	known := map[uint64]bool{}
	for _, l := range lives {
		known[l.Token] = true
		end, here := ours[l.Token]
		switch {
		case !here || l.End == cluster.Raised:
			events = append(events, eventsOf(l)...)
		case end == journal.Released && l.End == cluster.Expired:
			notes = append(notes, fmt.Sprintf("token %d was released here, and the engine has not heard of it: it ran out there", l.Token))
		}
	}
	for token := range ours {
		if len(lives) > 0 && token > lives[0].Token && !known[token] {
			notes = append(notes, fmt.Sprintf("token %d was had here, and the engine does not know it: it has lost data, or is another one", token))
		}
	}
	slices.Sort(notes)
	slices.SortStableFunc(events, func(a, b journal.Event) int { return a.Time.Compare(b.Time) })
	return events, notes
}

// eventsOf gives the beginning and the end of a life, as far as their times are known.
func eventsOf(l cluster.Life) (events []journal.Event) {
	add := func(at string, kind journal.Kind, text string) {
		if t, err := time.Parse(time.RFC3339, at); err == nil {
			events = append(events, journal.Event{Time: t, Kind: kind, Detail: elsewhere + text})
		}
	}
	who := fmt.Sprintf("%s, token %d", l.Info, l.Token)
	if l.End == cluster.Raised {
		add(l.Until, journal.Forced, fmt.Sprintf("later tokens are above %d", l.Token))
		return events
	}
	add(l.Since, journal.Acquired, who)
	switch l.End {
	case cluster.Released, cluster.Withdrawn:
		add(l.Until, journal.Released, who)
	case cluster.Expired:
		add(l.Until, journal.Lost, fmt.Sprintf("%s: it ran out, as token %d has found", who, l.Next))
	case cluster.Broken:
		add(l.Until, journal.Lost, who+": broken "+l.Why)
	}
	return events
}
