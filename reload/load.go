package reload

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// load reads the whole file at a moment in which nobody writes to it.
func (o Options) load(path string) (v Version, err error) {
	if v.Path, err = filepath.EvalSymlinks(path); err != nil {
		return v, err
	}
	f, before, err := openPlain(v.Path)
	if err != nil {
		return v, err
	}
	defer f.Close()
	if before.Size() > o.MaxBytes {
		return v, &fs.PathError{Op: "read", Path: path, Err: ErrTooLong}
	}
	still, err := keepStill(f)
	if err != nil {
		return v, err
	}
	defer still.end()
	if age := time.Since(changed(before)); !still.proven && age < o.Quiet && age >= 0 {
		return v, errBusy
	}
	all := bytes.NewBuffer(make([]byte, 0, before.Size()+bytes.MinRead)) // in one piece: writers wait
	if _, err = all.ReadFrom(io.LimitReader(f, o.MaxBytes+1)); err != nil {
		return v, err
	}
	v.Data = all.Bytes()
	if int64(len(v.Data)) > o.MaxBytes {
		return v, &fs.PathError{Op: "read", Path: path, Err: ErrTooLong}
	}
	if still.broken() {
		return v, errBusy
	}
	return v, settledAs(f, before, path, len(v.Data))
}

// openPlain opens a plain file and nothing else: what a fifo gives is waited for.
func openPlain(path string) (*os.File, fs.FileInfo, error) {
	f, err := openToRead(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrNotPlain}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

// settledAs reports errBusy where the file has changed meanwhile, or its path leads
// to another one.
func settledAs(f *os.File, before fs.FileInfo, path string, length int) error {
	after, err := f.Stat()
	if err != nil {
		return err
	}
	at, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errBusy
	case err != nil:
		return err
	case !os.SameFile(after, at), after.Size() != before.Size(), int64(length) != after.Size(), !changed(after).Equal(changed(before)):
		return errBusy
	}
	return nil
}

// fits compares with the checksum in SumFile. One that does not fit may be of the
// version before: whoever writes both comes to the other in a moment.
func (o Options) fits(v Version) error {
	if o.SumFile == "" {
		return nil
	}
	f, _, err := openPlain(o.SumFile)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return err
	}
	if words := strings.Fields(string(text)); len(words) > 0 && strings.EqualFold(words[0], hex.EncodeToString(v.Sum[:])) {
		return nil
	}
	return fmt.Errorf("%s: %w in %s", v.Path, ErrSum, o.SumFile)
}
