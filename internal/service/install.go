package service

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf16"
)

// largest is how much of a file that is in the way is read.
const largest = 1 << 20

// DifferentError says that another definition is in the place of this one.
type DifferentError struct {
	// Path is the file that is there.
	Path string
	// There is its content, Wanted that of the definition, as text.
	There, Wanted []byte
	// Masked says that it is a link to /dev/null, by which somebody has switched
	// the unit off.
	Masked bool
}

// Error names the file.
func (e *DifferentError) Error() string {
	if e.Masked {
		return e.Path + ": this unit is masked: somebody has switched it off"
	}
	return e.Path + ": there is a different definition; nothing was written"
}

// ForeignError says that a file to be removed was not made here, or is in use.
type ForeignError struct {
	// Path is the file.
	Path string
	// Why says what is in the way.
	Why string
}

// Error names the file and the reason.
func (e *ForeignError) Error() string { return e.Path + ": " + e.Why + "; nothing was removed" }

// Install writes files into a directory, none of them over another one: where one
// differs nothing is written (*DifferentError). It returns the paths that were
// written; those that were there already, and are the same, are not among them.
func Install(dir string, files []File) (written []string, err error) {
	for _, f := range files {
		if _, err := there(filepath.Join(dir, f.Name), f.Bytes()); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		err := create(path, f.Bytes())
		if errors.Is(err, fs.ErrExist) {
			var same bool
			if same, err = there(path, f.Bytes()); same {
				continue
			}
		}
		if err != nil {
			for _, p := range written {
				err = errors.Join(err, os.Remove(p)) // half a definition is none
			}
			return nil, err
		}
		written = append(written, path)
	}
	return written, nil
}

// there reports whether a file is there and the same.
func there(path string, wanted []byte) (same bool, err error) {
	link, _ := os.Readlink(path)
	if link == os.DevNull {
		return false, &DifferentError{Path: path, Masked: true}
	}
	is, err := Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && link != "":
		return false, &fs.PathError{Op: "write", Path: path, Err: errors.New("there is a link that leads nowhere, to " + link)}
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !bytes.Equal(is, wanted):
		return false, &DifferentError{Path: path, There: plainText(is), Wanted: plainText(wanted)}
	}
	return true, nil
}

// Read reads a regular file, whole. What is something else, or too large for a
// definition, is an error.
func Read(path string) ([]byte, error) {
	st, err := os.Stat(path) // before it is opened: a fifo would wait for a writer
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("not a file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(text) > largest {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d bytes", largest)}
	}
	return text, err
}

// create writes a new file, whole or not at all.
func create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// Uninstall removes the files of a definition from a directory. One that was not
// made here, or that its manager starts by itself, is a *ForeignError, and
// nothing is removed then. It returns the paths that were removed.
func Uninstall(dir string, files []File) (removed []string, err error) {
	var ours []string
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		text, err := Read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !bytes.Contains(text, f.asWritten(made)):
			return nil, &ForeignError{path, "it was not made by solehold unit"}
		}
		// Not filepath.Glob: the directory's own name is no pattern.
		if by, _ := fs.Glob(os.DirFS(dir), "*.wants/"+f.Name); len(by) > 0 {
			return nil, &ForeignError{path, "it is enabled (" + filepath.Join(dir, by[0]) + ")"}
		}
		ours = append(ours, path)
	}
	for _, path := range ours {
		err := os.Remove(path)
		switch {
		case err == nil:
			removed = append(removed, path)
		case !errors.Is(err, fs.ErrNotExist):
			return removed, err
		}
	}
	return removed, nil
}

// asWritten is a text in the encoding of the file, without a mark before it.
func (f File) asWritten(text string) []byte {
	if f.Encode == nil {
		return []byte(text)
	}
	return bytes.TrimPrefix(f.Encode(text), f.Encode(""))
}

// plainText takes what Windows wants of a text back out of it.
func plainText(text []byte) []byte {
	if bytes.HasPrefix(text, []byte{0xFF, 0xFE}) {
		units := make([]uint16, 0, len(text)/2)
		for i := 2; i+1 < len(text); i += 2 {
			units = append(units, uint16(text[i])|uint16(text[i+1])<<8)
		}
		text = []byte(string(utf16.Decode(units)))
	}
	return bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
}
