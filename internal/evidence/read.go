package evidence

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	stampLayout = "20060102T150405Z"
	// maxMeta bounds the description of an incident, and maxList how many are listed.
	maxMeta = 1 << 20
	maxList = 1000
	// MaxPart bounds what is read of one file of an incident: one that somebody
	// else put there must not fill the memory.
	MaxPart = 2 * DefaultBytes
)

// ErrNoIncident says that there is no incident of that name.
var ErrNoIncident = errors.New("there is no such incident")

// ErrNoPart says that an incident has no file of that name.
var ErrNoPart = errors.New("there is no such part")

// ErrNotOurs says that something else is where an incident or its file should be:
// a link, a fifo and the like.
var ErrNotOurs = errors.New("not what solehold made")

// IDs lists what is an incident by its name, oldest first.
func IDs(state *os.Root) ([]string, error) {
	if st, err := state.Lstat(Folder); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err == nil && !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: Folder, Err: ErrNotOurs}
	}
	entries, err := fs.ReadDir(state.FS(), Folder)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if _, ok := number(e.Name()); ok && e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		m, _ := number(a)
		n, _ := number(b)
		return cmp.Or(strings.Compare(a[:len(stampLayout)], b[:len(stampLayout)]), cmp.Compare(m, n))
	})
	return ids[max(0, len(ids)-maxList):], nil
}

// number reads the number of an incident within its second.
func number(id string) (int, bool) {
	if !regexp.MustCompile(`^\d{8}T\d{6}Z-\d{1,4}$`).MatchString(id) {
		return 0, false
	}
	n, err := strconv.Atoi(id[len(stampLayout)+1:])
	return n, err == nil
}

// List returns the incidents of a state directory, oldest first. One that was
// not written whole is listed with what is missing as its finding.
func List(state *os.Root) ([]Incident, error) {
	ids, err := IDs(state)
	var all []Incident
	for _, id := range ids {
		in, err := Load(state, id)
		if err != nil {
			when, _ := time.Parse(stampLayout, id[:len(stampLayout)])
			in = Incident{ID: id, Time: when, Finding: "its description is missing: " + cause(err).Error(), Missing: []string{metaName}}
		}
		all = append(all, in)
	}
	return all, err
}

// Load reads one incident's description. The error is ErrNoIncident where there
// is none of that name.
func Load(state *os.Root, id string) (Incident, error) {
	in := Incident{}
	text, _, err := Part(state, id, metaName)
	if err != nil {
		return in, err
	}
	if len(text) > maxMeta {
		return in, fmt.Errorf("incident %s: its description is too long", id)
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return in, fmt.Errorf("incident %s: %w", id, err)
	}
	in.ID = id
	return in, nil
}

// Part reads one file of an incident, at most MaxPart bytes of it: cut says that
// there is more. Links, fifos and the like are refused and nothing is followed.
func Part(state *os.Root, id, name string) (text []byte, cut bool, err error) {
	if err := exists(state, id); err != nil {
		return nil, false, err
	}
	f, err := openPart(state, id, name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, MaxPart+1))
	if len(text) > MaxPart {
		return text[:MaxPart], true, err
	}
	return text, false, err
}

// Parts lists the files of an incident.
func Parts(state *os.Root, id string) ([]string, error) {
	if err := exists(state, id); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(state.FS(), path.Join(Folder, id))
	var all []string
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasSuffix(e.Name(), ".new") {
			all = append(all, e.Name())
		}
	}
	return all, err
}

func exists(state *os.Root, id string) error {
	if _, ok := number(id); !ok {
		return fmt.Errorf("%w: %q is not the name of one", ErrNoIncident, id)
	}
	st, err := state.Lstat(path.Join(Folder, id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrNoIncident, id)
	case err == nil && !st.IsDir():
		return &fs.PathError{Op: "open", Path: path.Join(Folder, id), Err: ErrNotOurs}
	}
	return err
}

func openPart(state *os.Root, id, name string) (*os.File, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
		return nil, fmt.Errorf("incident %s: %w: %q is not the name of one", id, ErrNoPart, name)
	}
	at := path.Join(Folder, id, name)
	before, err := state.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		there, _ := Parts(state, id)
		return nil, fmt.Errorf("incident %s: %w: %s; there are %s", id, ErrNoPart, name, strings.Join(there, ", "))
	}
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: at, Err: ErrNotOurs}
	}
	// Not blocking: a fifo may take the place between the two calls.
	f, err := state.OpenFile(at, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !os.SameFile(before, st) {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: at, Err: ErrNotOurs}
	}
	return f, nil
}

// cause is the reason in an error that names a path of its own.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
