package datadir

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
)

// pairAttr is the extended attribute of a data directory whose state lies
// elsewhere: such a directory has to stay empty, so no file can say it.
const pairAttr = "user.solehold.state"

// pair is what the two directories remember of each other.
type pair struct {
	Data  Key    `json:"data"`
	State Key    `json:"state"`
	Path  string `json:"path"`
}

// PairedState returns the path of the state directory that d remembers, empty
// where there is none. A memory that came here by copying another directory is
// none.
func (d *Dir) PairedState() (string, error) {
	text := d.attribute()
	if text == nil {
		return "", nil
	}
	var p pair
	if json.Unmarshal(text, &p) != nil || !filepath.IsAbs(p.Path) {
		return "", &RefusedError{Path: d.path, Why: "its attribute " + pairAttr + " is damaged; say where the state is with --state"}
	}
	if p.Data != d.Key() {
		return "", nil
	}
	return p.Path, nil
}

// Pair makes sure that the state directory s and its data directory belong to
// each other and, with write, writes it down on both sides. The state directory
// of another data directory is refused, and so is a second state directory.
func (s *State) Pair(write bool) error {
	mine, err := s.pair()
	if err != nil {
		return err
	}
	known, err := s.dir.PairedState()
	if err != nil {
		return err
	}
	if known != "" && known != s.path && !sameFile(known, mine.State) {
		return &RefusedError{Path: s.dir.path, Why: "its state lies in " + known + ", not in " + s.path}
	}
	if known == "" && s.dir.hasOwnState(mine.State) {
		return &RefusedError{Path: s.dir.path, Why: "its state lies in its own " + StateName + ", not in " + s.path}
	}
	if !write {
		return s.readPair(mine)
	}
	text, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	if err := s.writePair(mine, text); err != nil || known != "" {
		return err
	}
	return s.dir.setAttribute(text)
}

// Away reports whether the state directory was opened as one that lies elsewhere.
func (s *State) Away() bool { return s.away }

func (s *State) pair() (pair, error) {
	key, err := s.Key()
	if err != nil {
		return pair{}, &fs.PathError{Op: "stat", Path: s.path, Err: err}
	}
	return pair{Data: s.dir.Key(), State: key, Path: s.path}, nil
}

// writePair writes the state's side, or checks it where it is written already.
func (s *State) writePair(mine pair, text []byte) error {
	f, err := s.OpenWrite(PairName)
	if err != nil {
		return err
	}
	defer f.Close()
	empty, err := s.checkPair(f, mine)
	if err != nil || !empty {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return errors.Join(err, f.Sync())
}

// readPair checks the state's side as far as there is one.
func (s *State) readPair(mine pair) error {
	f, err := s.OpenRead(PairName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = s.checkPair(f, mine)
	return err
}

func (s *State) checkPair(f File, mine pair) (empty bool, err error) {
	buf := make([]byte, 4096)
	n, err := f.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	if n == 0 {
		return true, nil
	}
	var there pair
	if json.Unmarshal(buf[:n], &there) != nil {
		return false, &RefusedError{Path: f.path, Why: "it is damaged; if this directory holds the state of no other, remove it"}
	}
	if there.Data != mine.Data {
		return false, &RefusedError{Path: s.path, Why: "it holds the state of another data directory (device:inode " +
			there.Data.String() + ", this is " + mine.Data.String() + ")"}
	}
	return false, nil
}

func sameFile(path string, key Key) bool {
	k, err := KeyOf(path)
	return err == nil && k == key
}
