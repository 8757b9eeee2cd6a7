package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// maxPacked bounds one file of a pack: a file that somebody put into an
// incident must not fill the disk.
const maxPacked = 2 * DefaultBytes

// Pack writes an incident as a tar.gz that is fit for a ticket: every text is
// masked once more, since output and commands may hold secrets.
func Pack(w io.Writer, state fs.FS, id string) error {
	in, err := Load(state, id)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	dir := path.Join(Folder, id)
	entries, err := fs.ReadDir(state, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue // nothing is followed
		}
		if err := packFile(archive, state, path.Join(dir, e.Name()), in); err != nil {
			return fmt.Errorf("pack %s: %w", e.Name(), err)
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

func packFile(archive *tar.Writer, state fs.FS, name string, in Incident) error {
	f, err := state.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxPacked))
	if err != nil {
		return err
	}
	var masked bytes.Buffer
	for line := range bytes.Lines(raw) {
		masked.WriteString(maskText(string(line)))
	}
	head := &tar.Header{
		Name: path.Join("incident-"+in.ID, path.Base(name)), Mode: 0o640, Size: int64(masked.Len()), ModTime: in.Time, Format: tar.FormatPAX,
	}
	if err := archive.WriteHeader(head); err != nil {
		return err
	}
	_, err = archive.Write(masked.Bytes())
	return err
}
