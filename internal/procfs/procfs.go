// Package procfs reads Linux's /proc, and is the only place in this product that does.
//
// It reads through an [fs.FS], so that a test hands it a map and a container hands it another mount; it compiles
// everywhere, and outside of Linux [Default] merely finds no files. Each parser takes text and is fuzzed; reading is apart.
//
// # What holds
//
//   - Malformed text gives a [*ParseError] that names the file and the line; it never panics.
//   - What was skipped in a scan is returned as a [Gap]: "nobody holds it" and "not allowed to look" differ.
//   - A file of one process is read up to 1 MiB, the lists of locks and mounts up to 16 MiB, since they grow with the
//     machine; what is longer gives [ErrTooLarge], never a part that looks whole.
//   - Pid 0 means the calling process everywhere ("self").
//
// # What is not promised
//
//   - A listing is a sample: the kernel builds it about a page at a time, and processes come and go meanwhile.
//   - A pid names a process only together with its [Stat.StartTicks] and [FS.BootID]; pids are reused.
//   - Under the mount option hidepid=2 the processes of other users are absent, and so are not gaps; [FS.Mounts] shows
//     the option.
//   - A thread that unshared its table of descriptors is not scanned; the thread group's leader is.
package procfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
)

const (
	// smallLimit bounds a file of one process. The largest honest one is a command line, which stays far below.
	smallLimit = 1 << 20
	// listLimit bounds /proc/locks and mountinfo: some 300,000 locks, so that only a broken file exceeds it.
	listLimit = 16 << 20
)

// FS reads one mount of /proc. It holds no state of its own: it may be copied, and used by several goroutines. Make it by
// [New] or [Default]; the zero value has nothing to read from.
type FS struct {
	fsys fs.FS
}

// New returns a reader of fsys, the root of which is what is usually mounted at /proc. Links (descriptors, executables,
// namespaces) need an [fs.ReadLinkFS]; without it those methods fail and the others work.
func New(fsys fs.FS) FS { return FS{fsys: fsys} }

// Default returns a reader of /proc. It opens nothing; where there is no /proc, each method says so by [fs.ErrNotExist].
func Default() FS { return New(open("/proc")) }

// Pids returns the visible processes in ascending order: all, unless the mount hides those of others (hidepid).
func (f FS) Pids() ([]int, error) { return f.numbers(".") }

// dir is the folder of a process.
func dir(pid int) string {
	if pid == 0 {
		return "self"
	}
	return strconv.Itoa(pid)
}

// load reads one file and parses it. Parsers do not know names, so the name is added to their error here.
func load[T any](f FS, name string, limit int, parse func(text string) (T, error)) (T, error) {
	var zero T
	raw, err := f.read(name, limit, make([]byte, 0, 1024))
	if err != nil {
		return zero, err
	}
	value, err := parse(string(raw))
	if err != nil {
		return zero, inFile(name, err)
	}
	return value, nil
}

// read returns the whole file, in buf's memory if it fits. The size that stat gives is not asked, it is 0 in /proc.
func (f FS) read(name string, limit int, buf []byte) ([]byte, error) {
	file, err := f.fsys.Open(name)
	if err != nil {
		return buf[:0], err
	}
	defer file.Close() // only read from: Close has nothing to tell
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, max(512, cap(buf)))
		}
		n, err := file.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limit:
			return buf[:0], &ParseError{File: name, Err: ErrTooLarge}
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf[:0], err
		}
	}
}

// numbers lists the entries of a folder that are numbers, ascending. On an error it returns those seen before it.
func (f FS) numbers(folder string) ([]int, error) {
	entries, err := fs.ReadDir(f.fsys, folder)
	found := make([]int, 0, len(entries))
	for _, entry := range entries {
		if n, ok := number(entry.Name()); ok {
			found = append(found, n)
		}
	}
	slices.Sort(found) // fs.ReadDir sorts them as text
	return found, err
}

// number accepts digits only: Atoi alone would take a sign.
func number(name string) (int, bool) {
	if name == "" || name[0] < '0' || name[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(name)
	return n, err == nil
}
