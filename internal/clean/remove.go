package clean

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
)

// asideName begins the name of a file that is about to be removed.
const asideName = ".clean-"

// errChanged says that a file is not the one that was judged.
var errChanged = errors.New("it was changed since it was judged")

// errMore says that a folder has something that solehold did not put there.
var errMore = errors.New("something else is in it")

// unchanged says whether two looks saw one file with one content.
func unchanged(judged, now fs.FileInfo) bool {
	return os.SameFile(judged, now) && judged.Mode() == now.Mode() && judged.Size() == now.Size() && judged.ModTime().Equal(now.ModTime())
}

// removeFile removes a file if it is the one that was judged. It is moved aside
// first: between a look at a name and its removal another file could take it.
func removeFile(root *os.Root, name string, judged fs.FileInfo) error {
	now, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !unchanged(judged, now) {
		return errChanged
	}
	if err != nil {
		return err
	}
	aside := path.Join(path.Dir(name), fmt.Sprintf("%s%016x", asideName, rand.Uint64()))
	if err := root.Rename(name, aside); err != nil {
		return err
	}
	if now, err = root.Lstat(aside); err != nil || !unchanged(judged, now) {
		return errors.Join(errChanged, putBack(root, aside, name))
	}
	return root.Remove(aside)
}

// putBack gives a file its name back, unless that has another one by now.
func putBack(root *os.Root, aside, name string) error {
	if err := root.Link(aside, name); err != nil {
		return fmt.Errorf("it is in %s: %w", aside, err)
	}
	return root.Remove(aside)
}

// removeFolder removes the plain files of an incident and then the folder, which
// stays where anything else is in it.
func removeFolder(root *os.Root, name string, judged fs.FileInfo) error {
	now, err := root.Lstat(name)
	if err != nil || !os.SameFile(judged, now) || !now.IsDir() {
		return errChanged
	}
	entries, err := fs.ReadDir(root.FS(), name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			return errMore
		}
	}
	for _, e := range entries {
		if err := root.Remove(path.Join(name, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return root.Remove(name)
}
