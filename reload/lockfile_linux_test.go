package reload_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/reload"
)

// Nothing is handed out while the writer's lock file is there, wherever it lies and
// whatever it is; its end is heard as an event.
func TestLockFile(t *testing.T) {
	t.Parallel()
	dir, beside := t.TempDir(), t.TempDir()
	path, lock := filepath.Join(dir, "conf"), filepath.Join(beside, "conf.lock")
	put(t, path, "one")
	w := start(t, path, reload.Options{LockFile: lock, Interval: time.Hour}) // by events alone
	w.until("one")
	for name, make := range map[string]func() error{
		"a file":         func() error { return os.WriteFile(lock, nil, 0o600) },
		"a link to none": func() error { return os.Symlink("nowhere", lock) },
		"a folder":       func() error { return os.Mkdir(lock, 0o700) },
	} {
		must(t, make())
		put(t, path, "half of "+name)
		if _, err := reload.Read(canceled(t), path, reload.Options{LockFile: lock}); err == nil || !strings.Contains(err.Error(), lock+" is there") {
			t.Errorf("%s: %v", name, err)
		}
		put(t, path, name)
		must(t, os.Remove(lock))
		for {
			v := <-w.versions
			if string(v.Data) == name {
				break
			}
			t.Errorf("handed out: %q", v.Data)
		}
		if v, err := reload.Read(t.Context(), path, reload.Options{LockFile: lock}); err != nil || string(v.Data) != name {
			t.Errorf("%s: %q, %v", name, v.Data, err)
		}
	}
}

// A lock file whose writer was killed is told of, once, and never judged by its age.
func TestLockFileStays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	lock, old := path+".lock", time.Now().Add(-24*time.Hour)
	put(t, path, "one")
	must(t, os.WriteFile(lock, nil, 0o600), os.Chtimes(lock, old, old))
	w := start(t, path, reload.Options{LockFile: lock, Interval: 30 * time.Millisecond})
	if err := w.refusal(); !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), lock+" is there") {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(lock))
	w.until("one")
	if len(w.refused) > 0 {
		t.Errorf("told again: %v", <-w.refused)
	}
}

// A writer that closes the file in the middle and goes on later is seen by its lock
// file alone, also one that begins while the file is read.
func TestWriterInParts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	lock := path + ".lock"
	write := func(text string) {
		must(t, os.WriteFile(lock, nil, 0o600), os.WriteFile(path, []byte(text[:len(text)/2]), 0o600))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = f.WriteString(text[len(text)/2:])
		must(t, err, f.Close(), os.Remove(lock))
	}
	write(sealed(0))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	for range 2 {
		go func() {
			n, once := 0, canceled(t)
			for ctx.Err() == nil {
				if v, err := reload.Read(once, path, reload.Options{LockFile: lock}); err == nil {
					if n++; !whole(v.Data) {
						t.Errorf("torn: %d bytes", len(v.Data))
						break
					}
				}
			}
			done <- n
		}()
	}
	rounds := soak(10_000)
	for i := range rounds {
		write(sealed(i))
	}
	cancel()
	t.Logf("%d writes beside %d reads", rounds, <-done+<-done)
}
