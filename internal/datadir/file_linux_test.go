package datadir_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

func TestReadAndWrite(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	f := lock(t, s)
	buf := make([]byte, 8)
	if n, err := f.ReadAt(buf, 0); n != 0 || err != io.EOF {
		t.Errorf("empty: %d, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("record"), 10); n != 6 || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
	must(t, f.Sync())
	if size, err := f.Size(); size != 16 || err != nil {
		t.Errorf("size %d, %v", size, err)
	}
	for _, test := range []struct {
		off, n int
		text   string
		err    error
	}{
		{8, 8, "\x00\x00record", nil},
		{12, 4, "cord", io.EOF},
		{16, 0, "", io.EOF},
		{99, 0, "", io.EOF},
	} {
		n, err := f.ReadAt(buf, int64(test.off))
		if n != test.n || err != test.err || string(buf[:n]) != test.text {
			t.Errorf("at %d: %d, %v, %q", test.off, n, err, buf[:n])
		}
	}
	if n, err := f.ReadAt(nil, 99); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	st := stat(t, f.Path())
	if key := f.Key(); key.Ino != st.Ino || key.Dev != uint64(st.Dev) {
		t.Errorf("key %s, want %+v", key, st)
	}
}

// Each write of each writer goes to the end, also where it reads elsewhere.
func TestAppend(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	a, b := file(t)(s.OpenAppend("history.jsonl")), file(t)(s.OpenAppend("history.jsonl"))
	for _, w := range []io.Writer{a, b, a, a, b} {
		if n, err := io.WriteString(w, "line\n"); n != 5 || err != nil {
			t.Errorf("write: %d, %v", n, err)
		}
		_, err := b.ReadAt(make([]byte, 1), 0)
		must(t, err)
	}
	if text, err := fs.ReadFile(s, "history.jsonl"); string(text) != "line\nline\nline\nline\nline\n" {
		t.Errorf("got %q, %v", text, err)
	}
	w := file(t)(s.OpenWrite("history.jsonl"))
	_, err := w.Write([]byte("L"))
	must(t, err)
	if text, err := fs.ReadFile(s, "history.jsonl"); !bytes.HasPrefix(text, []byte("Line\nline")) || len(text) != 25 {
		t.Errorf("got %q, %v", text, err)
	}
}

// An error keeps its errno and names the file, and no count is negative, which
// io.Writer forbids.
func TestErrorsOfFiles(t *testing.T) {
	t.Parallel()
	s, _ := fresh(t)
	lock(t, s)
	r := file(t)(s.OpenRead("lock"))
	n, err := r.Write([]byte("x"))
	failed(t, err, unix.EBADF, r.Path())
	m, errAt := r.WriteAt([]byte("x"), 0)
	failed(t, errAt, unix.EBADF, r.Path())
	k, errRead := r.ReadAt(make([]byte, 1), -1)
	failed(t, errRead, unix.EINVAL, r.Path())
	if n != 0 || m != 0 || k != 0 {
		t.Errorf("counts %d, %d, %d", n, m, k)
	}
}

// TestFullDisk is case C13 below the record: neither a short write nor one that
// fails passes for good.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, ownMounts()) {
		return
	}
	base := place(t)
	must(t, unix.Mount("tmpfs", base, "tmpfs", 0, "size=64k"))
	defer unix.Unmount(base, unix.MNT_DETACH)
	s := state(t, open(t, mkdir(t, base+"/data", -1, 0o700)))
	f, history := lock(t, s), file(t)(s.OpenAppend("history.jsonl"))
	big := make([]byte, 96<<10)
	for name, write := range map[string]func([]byte) (int, error){
		"at offset": func(p []byte) (int, error) { return f.WriteAt(p, 0) },
		"append":    history.Write,
	} {
		n, err := write(big)
		failed(t, err, unix.ENOSPC, map[bool]string{true: f.Path(), false: history.Path()}[name == "at offset"])
		if n <= 0 || n >= len(big) {
			t.Errorf("%s: short write of %d bytes", name, n)
		}
		must(t, os.Truncate(f.Path(), 0))
		must(t, os.Truncate(history.Path(), 0))
	}
	_, err := f.WriteAt(big[:64<<10], 0)
	must(t, err)
	n, err := history.Write([]byte("x"))
	failed(t, err, unix.ENOSPC, history.Path())
	m, errAt := f.WriteAt([]byte("x"), 64<<10)
	failed(t, errAt, unix.ENOSPC, f.Path())
	if n != 0 || m != 0 {
		t.Errorf("counts %d and %d", n, m)
	}
	if _, err := f.WriteAt(big[:4096], 0); err != nil {
		t.Errorf("what is there can be overwritten: %v", err)
	}
	if err := s.Pair(true); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("pairing: %v", err)
	}
}
