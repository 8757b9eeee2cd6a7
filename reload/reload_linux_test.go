package reload_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/solehold/solehold/reload"
	"golang.org/x/sys/unix"
)

// limit is generous: a loaded machine is no fault of a watch.
const limit = 20 * time.Second

// watch is a Watch at work.
type watch struct {
	t        *testing.T
	versions chan reload.Version
	refused  chan error
	end      chan error
}

func start(t *testing.T, path string, o reload.Options) *watch {
	t.Helper()
	w := &watch{t: t, versions: make(chan reload.Version, 100_000), refused: make(chan error, 1000), end: make(chan error, 1)}
	o.Refused = func(err error) { w.refused <- err }
	ctx, cancel := context.WithCancel(t.Context())
	go func() { w.end <- reload.Watch(ctx, path, o, func(v reload.Version) { w.versions <- v }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-w.end; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
	return w
}

// until waits for a version.
func (w *watch) until(want string) {
	w.t.Helper()
	late := time.After(limit)
	for {
		select {
		case v := <-w.versions:
			if v.Sum != sha256.Sum256(v.Data) {
				w.t.Fatal("a wrong sum")
			}
			if string(v.Data) == want {
				return
			}
		case <-late:
			w.t.Fatalf("%q never came", want)
		}
	}
}

// nothing checks that no version has come, once the watch has looked again.
func (w *watch) nothing(path string) {
	w.t.Helper()
	put(w.t, path, "probe "+rand())
	for {
		v := <-w.versions
		if strings.HasPrefix(string(v.Data), "probe ") {
			return
		}
		w.t.Errorf("handed out: %q", v.Data)
	}
}

func (w *watch) refusal() error {
	w.t.Helper()
	select {
	case err := <-w.refused:
		return err
	case <-time.After(limit):
		w.t.Fatal("nothing was refused")
		return nil
	}
}

func rand() string { return strconv.FormatInt(time.Now().UnixNano(), 36) }

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// sealed is a content that tells whether it is whole.
func sealed(n int) string {
	body := fmt.Sprintf("version %d\n%s\n", n, strings.Repeat(strconv.Itoa(n)+" ", 400))
	sum := sha256.Sum256([]byte(body))
	return body + hex.EncodeToString(sum[:])
}

func whole(data []byte) bool {
	if len(data) < 64 {
		return false
	}
	sum := sha256.Sum256(data[:len(data)-64])
	return hex.EncodeToString(sum[:]) == string(data[len(data)-64:])
}

// styles are the ways in which people and programs write a configuration.
func styles(dir, path string) map[string]func(text string) error {
	n := 0
	return map[string]func(string) error{
		"rename": func(text string) error {
			return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
		},
		"in place":         func(text string) error { return slowly(path, os.O_WRONLY|os.O_CREATE, text, 1) },
		"truncate, write":  func(text string) error { return slowly(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, text, 3) },
		"delayed in parts": func(text string) error { return slowly(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, text, 7) },
		"editor with backup": func(text string) error {
			os.Rename(path, path+"~")
			return slowly(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, text, 2)
		},
		"symlink swap": func(text string) error {
			n++
			at := filepath.Join(dir, fmt.Sprintf("..v%d", n))
			err := errors.Join(os.WriteFile(at, []byte(text), 0o600), os.Symlink(filepath.Base(at), path+".lnk"), os.Rename(path+".lnk", path))
			os.Remove(filepath.Join(dir, fmt.Sprintf("..v%d", n-1)))
			return err
		},
	}
}

// slowly writes in parts.
func slowly(path string, flags int, text string, parts int) error {
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSymlink != 0 {
		os.Remove(path)
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	size := len(text)/parts + 1
	for i := 0; i < len(text); i += size {
		if _, err := f.WriteString(text[i:min(len(text), i+size)]); err != nil {
			return err
		}
	}
	return f.Truncate(int64(len(text)))
}

// Six kinds of writers, one after the other and as fast as they can: no torn
// content is handed out although nothing but the kernel tells it, and the last one
// of each always arrives.
func TestWriters(t *testing.T) {
	for name := range styles("", "") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "conf")
			write := styles(dir, path)[name]
			must(t, write(sealed(0)))
			w := start(t, path, reload.Options{})
			w.until(sealed(0))
			rounds := soak(10_000)
			slowest := time.Duration(0)
			for i := 1; i <= rounds; i++ {
				must(t, write(sealed(i)))
				if i%50 == 0 || i == rounds {
					begin := time.Now()
					w.whole(sealed(i))
					slowest = max(slowest, time.Since(begin))
				}
			}
			t.Logf("%d writes, the last content of a burst after %v at most", rounds, slowest.Round(time.Millisecond))
		})
	}
}

// whole is until, and no version on the way may be torn.
func (w *watch) whole(want string) {
	w.t.Helper()
	late := time.After(limit)
	for {
		select {
		case v := <-w.versions:
			if !whole(v.Data) {
				w.t.Fatalf("torn: %d bytes", len(v.Data))
			}
			if string(v.Data) == want {
				return
			}
		case <-late:
			w.t.Fatalf("%.20q never came", want)
		}
	}
}

func soak(all int) int {
	percent, err := strconv.Atoi(os.Getenv("SOLEHOLD_SOAK"))
	if err != nil || percent <= 0 {
		percent = 2
	}
	return max(all*percent/100, 50)
}

// A writer that keeps the file open is waited for, and one that comes while we
// read is not harmed.
func TestOpenWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	put(t, path, "one")
	w := start(t, path, reload.Options{})
	w.until("one")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	must(t, err)
	_, err = f.WriteString("two, first half")
	must(t, err)
	if _, err := reload.Read(canceled(t), path, reload.Options{}); err == nil {
		t.Error("a half was read while its writer had the file open")
	}
	_, err = f.WriteString(" and second half")
	must(t, err, f.Close())
	w.until("two, first half and second half")
}

// A writer that never ends is told of, once, and what it leaves in the end is read.
func TestWriterWithoutEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	put(t, path, "one")
	w := start(t, path, reload.Options{Interval: 30 * time.Millisecond})
	w.until("one")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	must(t, err)
	_, err = f.WriteString("two")
	must(t, err)
	if err := w.refusal(); !strings.Contains(err.Error(), path+": it is being written") {
		t.Errorf("%v", err)
	}
	must(t, f.Close())
	w.until("two")
	if len(w.refused) > 0 {
		t.Errorf("told again: %v", <-w.refused)
	}
}

// canceled is a context for a single attempt.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Locks of writers are respected although the file is not open for writing.
func TestLockedFile(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]func(f *os.File, on bool) error{
		"flock": func(f *os.File, on bool) error {
			if on {
				return unix.Flock(int(f.Fd()), unix.LOCK_EX)
			}
			return unix.Flock(int(f.Fd()), unix.LOCK_UN)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "conf")
			put(t, path, "one")
			f, err := os.Open(path)
			must(t, err, lock(f, true))
			defer f.Close()
			if _, err := reload.Read(canceled(t), path, reload.Options{}); err == nil {
				t.Error("read under a writer's lock")
			}
			must(t, lock(f, false))
			if v, err := reload.Read(t.Context(), path, reload.Options{}); err != nil || string(v.Data) != "one" {
				t.Errorf("%q, %v", v.Data, err)
			}
		})
	}
}

// The same content again is no version, whatever was done to the file.
func TestSameContent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	put(t, path, "one")
	w := start(t, path, reload.Options{Known: []byte("one")})
	now := time.Now()
	must(t, os.Chtimes(path, now, now), slowly(path, os.O_WRONLY, "one", 1))
	put(t, path, "one")
	must(t, os.Remove(path))
	put(t, path, "one")
	w.nothing(path)
}

// What is refused stays out, with its reason once, and the next good one comes.
func TestCheck(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	put(t, path, "good 1")
	bad := errors.New("no good")
	w := start(t, path, reload.Options{Check: func(data []byte) error {
		if !strings.HasPrefix(string(data), "good") {
			return bad
		}
		return nil
	}})
	w.until("good 1")
	put(t, path, "evil")
	if err := w.refusal(); !errors.Is(err, bad) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	put(t, path, "good 2")
	w.until("good 2")
	if len(w.refused) > 0 {
		t.Errorf("told again: %v", <-w.refused)
	}
}

// What is no content: nothing, too much, a folder, a fifo, a file nobody may read.
func TestNoContent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(path string) error
		want error
	}{
		"empty":     {func(p string) error { return os.WriteFile(p, nil, 0o600) }, reload.ErrEmpty},
		"a GiB":     {func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, 1<<30)) }, reload.ErrTooLong},
		"a folder":  {func(p string) error { return os.Mkdir(p, 0o700) }, reload.ErrNotPlain},
		"a fifo":    {func(p string) error { return unix.Mkfifo(p, 0o600) }, reload.ErrNotPlain},
		"a device":  {func(p string) error { return os.Symlink("/dev/zero", p) }, reload.ErrNotPlain},
		"no file":   {func(string) error { return nil }, fs.ErrNotExist},
		"a loop":    {func(p string) error { return os.Symlink(filepath.Base(p), p) }, nil},
		"elsewhere": {func(p string) error { return os.Symlink("/no/such/file", p) }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "conf")
			must(t, c.make(path))
			w := start(t, path, reload.Options{})
			if err := w.refusal(); c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			os.Remove(path)
			put(t, path, "at last")
			w.until("at last")
		})
	}
}

func TestNoFolder(t *testing.T) {
	t.Parallel()
	if _, err := reload.Read(t.Context(), filepath.Join(t.TempDir(), "no", "conf"), reload.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := reload.Watch(t.Context(), filepath.Join(t.TempDir(), "no", "conf"), reload.Options{}, func(reload.Version) {}); err == nil {
		t.Error("a folder that is missing is watched")
	}
}

// A content comes when its checksum fits, whichever of them is written first.
func TestSumFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, sums := filepath.Join(dir, "conf"), filepath.Join(dir, "conf.sha256")
	sum := func(text string) string {
		s := sha256.Sum256([]byte(text))
		return hex.EncodeToString(s[:]) + "  conf\n"
	}
	put(t, path, "one")
	put(t, sums, sum("one"))
	w := start(t, path, reload.Options{SumFile: sums})
	w.until("one")
	put(t, path, "two")
	if err := w.refusal(); !errors.Is(err, reload.ErrSum) {
		t.Errorf("%v", err)
	}
	put(t, sums, sum("two"))
	w.until("two")
	put(t, sums, sum("three"))
	put(t, path, "three")
	w.until("three")
}

// Sums in all forms in which tools write them, and what is none.
func TestSums(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, sums := filepath.Join(dir, "conf"), filepath.Join(dir, "sums")
	put(t, path, "one")
	bytes := sha256.Sum256([]byte("one"))
	sum := hex.EncodeToString(bytes[:])
	for text, want := range map[string]error{
		sum: nil, sum + "\n": nil, sum + "  conf\n": nil, sum + " *conf\n": nil, sum + "\tconf": nil, sum + "\nsecond line\n": nil, strings.ToUpper(sum): nil,
		"": reload.ErrSum, "\n": reload.ErrSum, sum[1:]: reload.ErrSum, sum + "0": reload.ErrSum, "conf " + sum: reload.ErrSum,
	} {
		put(t, sums, text)
		if _, err := reload.Read(t.Context(), path, reload.Options{SumFile: sums}); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// What is no plain file in the place of the sum is refused, and nothing waits for it:
// a fifo whose writer says nothing would be waited for without end.
func TestSumFileIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, sums := filepath.Join(dir, "conf"), filepath.Join(dir, "sums")
	put(t, path, "one")
	if _, err := reload.Read(t.Context(), path, reload.Options{SumFile: sums}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	must(t, unix.Mkfifo(sums, 0o600))
	silent, err := os.OpenFile(sums, os.O_RDWR, 0)
	must(t, err)
	defer silent.Close()
	for _, what := range []string{"a fifo", "a folder"} {
		if _, err := reload.Read(t.Context(), path, reload.Options{SumFile: sums}); !errors.Is(err, reload.ErrNotPlain) {
			t.Errorf("%s: %v", what, err)
		}
		must(t, os.Remove(sums), os.Mkdir(sums, 0o700))
	}
}

// Kubernetes swaps a link in the middle of the path: ..data.
func TestDataLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := func(n int, text string) {
		folder := fmt.Sprintf("..v%d", n)
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700), os.WriteFile(filepath.Join(dir, folder, "conf"), []byte(text), 0o600))
		must(t, os.Symlink(folder, filepath.Join(dir, "..tmp")), os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
		os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..v%d", n-1)))
	}
	version(1, "one")
	path := filepath.Join(dir, "conf")
	must(t, os.Symlink("..data/conf", path))
	w := start(t, path, reload.Options{Interval: time.Hour}) // by events alone
	w.until("one")
	for n := 2; n < 30; n++ {
		text := fmt.Sprint("version ", n)
		version(n, text)
		w.until(text)
	}
}

// Without any event the look now and then finds what has changed.
func TestLostEvents(t *testing.T) {
	t.Parallel()
	store, dir := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(store, "conf"), []byte("one"), 0o600))
	path := filepath.Join(dir, "conf")
	must(t, os.Link(filepath.Join(store, "conf"), path))
	w := start(t, path, reload.Options{Interval: 20 * time.Millisecond})
	w.until("one")
	// Written through its other name: nothing happens in the watched folder.
	must(t, slowly(filepath.Join(store, "conf"), os.O_WRONLY|os.O_TRUNC, "two", 1))
	w.until("two")
}

// Many files beside it cost looks at nothing.
func TestNoise(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "conf")
	put(t, path, "one")
	var mu sync.Mutex
	checks := 0
	w := start(t, path, reload.Options{Interval: time.Hour, Check: func([]byte) error { mu.Lock(); defer mu.Unlock(); checks++; return nil }})
	w.until("one")
	for i := range 3000 {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("other", i%50)), []byte("x"), 0o600))
	}
	put(t, path, "two")
	w.until("two")
	mu.Lock()
	defer mu.Unlock()
	if checks > 20 {
		t.Errorf("looked %d times", checks)
	}
}
