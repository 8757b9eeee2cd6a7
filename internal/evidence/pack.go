package evidence

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"
)

// Pack writes an incident as a tar.gz that is fit for a ticket: every text is
// masked once more, since output and commands may hold secrets. It holds plain
// files only, and of each at most MaxPart bytes.
func Pack(w io.Writer, state *os.Root, id string) error {
	files, err := Parts(state, id)
	if err != nil {
		return err
	}
	when := time.Time{}
	if in, err := Load(state, id); err == nil { // one without a description is packed, too
		when = in.Time
	}
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	for _, name := range files {
		text, _, err := Part(state, id, name)
		if err == nil {
			err = pack(archive, &tar.Header{Name: path.Join("incident-"+id, name), ModTime: when}, text)
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

func pack(archive *tar.Writer, head *tar.Header, raw []byte) error {
	var masked bytes.Buffer
	for line := range bytes.Lines(raw) {
		masked.WriteString(maskText(string(line)))
	}
	head.Mode, head.Size, head.Format = 0o640, int64(masked.Len()), tar.FormatPAX
	if err := archive.WriteHeader(head); err != nil {
		return err
	}
	_, err := archive.Write(masked.Bytes())
	return err
}
