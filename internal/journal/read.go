package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strconv"
)

// History is what could be read of a data directory's past.
type History struct {
	// Events are in the order of the files, oldest first.
	Events []Event
	// Skipped counts lines that are not events: torn, too long or foreign.
	Skipped int
}

// Read returns the events of the state directory fsys, rotated files included.
// A missing history is an empty one. The error is that of opening or reading a
// file; what was read before it is returned with it.
func Read(fsys fs.FS) (History, error) {
	var h History
	for i := Keep; i >= 0; i-- {
		f, err := fsys.Open(fileName(i))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return h, err
		}
		err = h.add(f)
		f.Close()
		if err != nil {
			return h, err
		}
	}
	return h, nil
}

func fileName(i int) string {
	if i == 0 {
		return Name
	}
	return Name + "." + strconv.Itoa(i)
}

// add reads one file.
func (h *History) add(r io.Reader) error {
	l := lines{visit: func(e Event) { h.Events = append(h.Events, e) }}
	err := l.read(r)
	h.Skipped += l.skipped
	if l.torn {
		h.Skipped++
	}
	return err
}

// lines reads one file, event by event. It is bounded: no more than 16 times MaxSize
// is taken, since the holder rotates long before.
type lines struct {
	visit   func(Event)
	skipped int   // lines that are not events
	whole   int64 // bytes up to the end of the last whole line
	torn    bool  // it ended inside a line: torn, or being written now
}

func (l *lines) read(r io.Reader) error {
	lines := bufio.NewReaderSize(io.LimitReader(r, 16*MaxSize), MaxLine)
	for {
		line, err := lines.ReadSlice('\n')
		size := int64(len(line))
		switch {
		case err == nil:
			l.line(line)
		case errors.Is(err, bufio.ErrBufferFull):
			var more int64
			more, err = skipLine(lines)
			size += more
			l.skipped++
			if err == io.EOF {
				l.whole += size // so long a line is none, whatever follows
				return nil
			}
			if err != nil {
				return err
			}
		case err == io.EOF:
			l.torn = len(line) > 0
			return nil
		default:
			return err
		}
		l.whole += size
	}
}

// skipLine passes over the rest of a line, and tells how long that was.
func skipLine(r *bufio.Reader) (size int64, err error) {
	for {
		rest, err := r.ReadSlice('\n')
		size += int64(len(rest))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return size, err
		}
	}
}

func (l *lines) line(b []byte) {
	if len(b) <= 1 {
		return
	}
	var e Event
	if json.Unmarshal(b, &e) != nil || e.Kind == "" || e.Time.IsZero() {
		l.skipped++
		return
	}
	l.visit(e)
}

// LastToken returns the highest token that the history names. A starter asks
// for it only when the lock file has no readable record, so that tokens go on
// rising after somebody removed or damaged it.
func (h History) LastToken() uint64 {
	var last uint64
	for _, e := range h.Events {
		last = max(last, e.Token)
	}
	return last
}

// Renamer is the directory of a history as the holder sees it when it rotates.
type Renamer interface {
	// Rename moves a file of the directory to another name in it.
	Rename(from, to string) error
}

// Rotate moves the current file aside and drops the oldest. Only the holder may
// call it. Writers that still have the old file open go on appending to it under
// its new name, so no event is lost.
func Rotate(dir Renamer) error {
	for i := Keep - 1; i >= 0; i-- {
		err := dir.Rename(fileName(i), fileName(i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
