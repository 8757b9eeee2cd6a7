package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// folder is a new incident on the disk. Every call that may hang there is given
// up after patience, and then no other one is made.
type folder struct {
	state    *os.Root
	name     string // empty where it could not be made
	left     int64
	patience time.Duration
	hung     bool
	err      error // what could not be written
}

var (
	errNoFolder = errors.New("there is no folder for it")
	errHung     = errors.New("the file system did not answer in time")
)

// newFolder makes incidents/<utc>-<n>, after making room for it.
func newFolder(state *os.Root, in *Incident, r Request) *folder {
	f := &folder{state: state, left: r.Bytes, patience: r.Limit / 5}
	stamp := in.Time.Format(stampLayout)
	in.ID = stamp + "-1"
	names := make(chan string, 1)
	err := f.timely(func() error {
		prune(state, "", Keep-1)
		name, err := makeFolder(state, stamp)
		names <- name
		return err
	})
	if err != nil {
		f.err = fmt.Errorf("no folder for the incident: %w", err)
		return f
	}
	in.ID = <-names
	f.name = path.Join(Folder, in.ID)
	return f
}

func makeFolder(state *os.Root, stamp string) (string, error) {
	if err := state.Mkdir(Folder, 0o750); err == nil {
		give(state, Folder)
	} else if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	for n := 1; n < 100; n++ {
		name := fmt.Sprintf("%s-%d", stamp, n)
		err := state.Mkdir(path.Join(Folder, name), 0o750)
		if err == nil {
			give(state, path.Join(Folder, name))
		}
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", fs.ErrExist
}

// give hands what root has made to the owner of the state directory, who must be
// able to read it and to make room.
func give(state *os.Root, name string) {
	if st, err := state.Stat("."); err == nil && os.Geteuid() == 0 {
		if uid, gid, ok := ownerOf(st); ok {
			state.Lchown(name, uid, gid)
		}
	}
}

// timely bounds one call.
func (f *folder) timely(work func() error) error {
	if f.hung {
		return errHung
	}
	done := make(chan error, 1)
	go func() { done <- work() }()
	over := time.NewTimer(f.patience)
	defer over.Stop()
	select {
	case err := <-done:
		return err
	case <-over.C:
		f.hung = true
		return errHung
	}
}

// fail keeps the first failure: the others mostly say the same.
func (f *folder) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// write saves one file, cut where the incident is full.
func (f *folder) write(name, text string) error {
	const cut = "\n(cut: the incident is full)\n"
	if int64(len(text)) > f.left {
		text = text[:f.left] + cut
	}
	f.left = max(0, f.left-int64(len(text)))
	return f.put(name, text)
}

func (f *folder) put(name, text string) error {
	if f.name == "" {
		return errNoFolder
	}
	state, at := f.state, path.Join(f.name, name)
	err := f.timely(func() error { return create(state, at, text) })
	if err != nil {
		f.fail(err)
	}
	return err
}

// create makes a new file: what is there already is not ours.
func create(state *os.Root, name, text string) error {
	file, err := state.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	give(state, name)
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// describe writes the summary and the description, in the place of those from
// before the parts were taken: where there is no room for new ones the old ones
// stay.
func (f *folder) describe(in Incident, r Request) {
	meta, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		f.fail(err)
		return
	}
	f.replace(metaName, string(meta)+"\n")
	f.replace(summaryName, summary(in, r))
}

// replace writes a file in the place of one that is there.
func (f *folder) replace(name, text string) {
	state, at := f.state, path.Join(f.name, name)
	if f.put(name+".new", text) != nil {
		f.timely(func() error { return state.Remove(at + ".new") })
		return
	}
	if err := f.timely(func() error { return state.Rename(at+".new", at) }); err != nil {
		f.fail(err)
	}
}

func (f *folder) prune(newest string) {
	state := f.state
	f.timely(func() error { prune(state, newest, Keep); return nil })
}

// prune removes the oldest incidents beyond the bounds, never the new one, nor
// what is no incident by its name.
func prune(state *os.Root, newest string, keep int) {
	ids, err := IDs(state)
	if err != nil {
		return
	}
	var total int64
	for i := len(ids) - 1; i >= 0; i-- {
		at := path.Join(Folder, ids[i])
		total += size(state, at)
		if ids[i] != newest && (len(ids)-i > keep || total > KeepBytes) {
			state.RemoveAll(at)
		}
	}
}

func size(state *os.Root, dir string) (n int64) {
	entries, _ := fs.ReadDir(state.FS(), dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}
