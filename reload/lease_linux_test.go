package reload

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A writer that comes while a file is read waits, and the read is void. The twin:
// without one it is not.
func TestBrokenLease(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openToRead(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	still, err := keepStill(f)
	if err != nil || !still.proven || still.broken() {
		t.Fatalf("%+v, %v", still, err)
	}
	in := make(chan error, 1)
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		in <- err
		w.Close()
	}()
	for late := time.Now().Add(20 * time.Second); !still.broken(); runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatal("the writer is not seen")
		}
	}
	select {
	case err := <-in:
		t.Errorf("the writer did not wait: %v", err)
	default:
	}
	if _, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a writer that does not wait: %v", err)
	}
	still.end()
	if err := <-in; err != nil {
		t.Error(err)
	}
}
