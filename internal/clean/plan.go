package clean

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/evidence"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/supervise"
)

const (
	kindPidfile  = "pid file"
	kindIncident = "incident"
)

// young is how old a left-over must be: a younger one may be somebody's who is
// just writing it, for not everything is written by the owner.
const young = time.Minute

// known is one kind of file of the state directory that may go while nobody has
// the directory.
type known struct {
	name *regexp.Regexp
	kind string
	why  string
	old  bool // only when it is not young
}

// knownFiles is all that is ever removed of the state directory itself. The lock,
// the pairing, the running history and the counter of refusals are not in it.
func knownFiles() []known {
	exactly := func(name string) *regexp.Regexp { return regexp.MustCompile("^" + regexp.QuoteMeta(name) + "$") }
	return []known{
		{regexp.MustCompile("^" + regexp.QuoteMeta(journal.Name) + `\.[1-9][0-9]?$`), "rotated history", "what happened before the running history begins", false},
		{exactly(datadir.ReleaseName), "request to let go", "nobody has the directory, so nobody is asked", false},
		{regexp.MustCompile("^" + regexp.QuoteMeta(datadir.ReleaseName) + `\.([0-9a-f]{16}|[0-9]+\.[0-9a-z]+)$`), "left-over of a request", "who wrote it did not finish", true},
		{regexp.MustCompile("^" + regexp.QuoteMeta(asideName) + `[0-9a-f]{16}$`), "left-over of a clean", "who moved it aside did not finish", true},
		{exactly(datadir.SeatName), "seat of a wrapped program", "nobody has the directory, so nobody sits", false},
		{exactly(journal.PulseName), "health", "nobody has the directory, so nobody is asked how it is", false},
		{exactly(supervise.FailuresName), "remembered failures", "a give-up is lifted", false},
		{exactly(supervise.WatchName), "remembered failures of a watch", "a give-up is lifted", false},
	}
}

// plan judges what is there.
func (o Options) plan(ctx context.Context, p place) ([]Item, error) {
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var all []Item
	for _, e := range entries {
		for _, k := range knownFiles() {
			if k.name.MatchString(e.Name()) {
				all = append(all, k.judge(p, e.Name()))
			}
		}
	}
	saved, err := o.incidents(p)
	return append(append(all, saved...), o.pidfiles(ctx)...), err
}

// judge looks at one file of a known name.
func (k known) judge(p place, name string) Item {
	i := Item{Path: filepath.Join(p.path, name), Kind: k.kind, Action: Remove, Why: k.why, name: name}
	i.look(p.root)
	if i.Action == Remove && k.old && time.Since(i.info.ModTime()) < young {
		i.Action, i.Why = Keep, "it is less than a minute old: somebody may be writing it"
	}
	return i
}

// look keeps what was seen, and keeps the file where that is no plain one.
func (i *Item) look(root *os.Root) {
	info, err := root.Lstat(i.name)
	switch {
	case err != nil:
		i.Action, i.Why = Keep, err.Error()
	case !info.Mode().IsRegular():
		i.Action, i.Why = Keep, "it is no plain file: solehold did not make it"
	default:
		i.info, i.Bytes = info, info.Size()
	}
}

// incidents are the folders of saved evidence, or what a writer of evidence that
// was killed has left in them.
func (o Options) incidents(p place) ([]Item, error) {
	found, err := evidence.List(p.root)
	if err != nil {
		return nil, err
	}
	var all []Item
	for _, in := range found {
		folder := path.Join(evidence.Folder, in.ID)
		if !o.Incidents {
			all = append(all, unfinished(p, folder)...)
			continue
		}
		i := Item{Path: filepath.Join(p.path, folder), Kind: kindIncident, Action: Remove, Why: "asked for with --incidents", name: folder}
		if i.info, err = p.root.Lstat(folder); err != nil || !i.info.IsDir() {
			continue
		}
		all = append(all, i)
	}
	return all, nil
}

// unfinished are files of an incident that were not renamed to their names.
func unfinished(p place, folder string) []Item {
	entries, err := fs.ReadDir(p.root.FS(), folder)
	if err != nil {
		return nil
	}
	k := known{kind: "left-over of an incident", why: "who wrote it did not finish", old: true}
	var all []Item
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".new") && e.Type().IsRegular() {
			all = append(all, k.judge(p, path.Join(folder, e.Name())))
		}
	}
	return all
}

// pidfiles judges the pid files that were named.
func (o Options) pidfiles(ctx context.Context) []Item {
	var all []Item
	for _, given := range o.Pidfiles {
		i := Item{Path: given, Kind: kindPidfile, Action: Remove, name: filepath.Base(given)}
		if abs, err := filepath.Abs(given); err == nil {
			i.Path = abs
		}
		info, err := os.Lstat(i.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			i.Action, i.Why = Keep, "there is none"
		case err != nil:
			i.Action, i.Why, i.err = Keep, err.Error(), err
		case !info.Mode().IsRegular():
			i.Action, i.Why = Keep, "it is no plain file"
		default:
			i.info, i.Bytes = info, info.Size() // before it is judged: a later one is another file
			var dead bool
			if dead, i.Why = o.Judge(ctx, i.Path); !dead {
				i.Action = Keep
			}
		}
		all = append(all, i)
	}
	return all
}
