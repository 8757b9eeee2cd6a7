package reload_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/solehold/solehold/reload"
)

// Writers are not held up by somebody who reads all the time: the figures are in the
// log. The kernel would let them wait for 45 s.
func TestWriterIsNotHeldUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	put(t, path, sealed(0))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			if v, err := reload.Read(ctx, path, reload.Options{AllowEmpty: true}); err == nil {
				if n++; len(v.Data) > 0 && !whole(v.Data) {
					t.Errorf("torn: %d bytes", len(v.Data))
				}
			}
		}
		done <- n
	}()
	var took []time.Duration
	for i := range soak(10_000) {
		begin := time.Now()
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		must(t, err)
		took = append(took, time.Since(begin))
		_, err = f.WriteString(sealed(i))
		must(t, err, f.Close())
	}
	cancel()
	reads := <-done
	slices.Sort(took)
	t.Logf("%d opens beside %d reads: median %v, 99%% %v, longest %v", len(took), reads, took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	if took[len(took)/2] > time.Second {
		t.Error("writers wait")
	}
}

// A folder that is renamed away, with another one in its place, is followed.
func TestFolderReplaced(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "etc")
	must(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "conf")
	put(t, path, "one")
	w := start(t, path, reload.Options{Interval: 20 * time.Millisecond})
	w.until("one")
	must(t, os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700))
	put(t, path, "two")
	w.until("two")
	put(t, path, "three")
	w.until("three")
	must(t, os.RemoveAll(dir), os.Mkdir(dir, 0o700))
	put(t, path, "four")
	w.until("four")
}

// A checksum in a file that is named relatively, and behind a link that is swapped.
func TestSumFileByLink(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	version := func(folder, text string) {
		s := sha256.Sum256([]byte(text))
		must(t, os.Mkdir(folder, 0o700), os.WriteFile(folder+"/sum", []byte(hex.EncodeToString(s[:])), 0o600))
		must(t, os.Symlink(folder, "..tmp"), os.Rename("..tmp", "..data"))
	}
	version("..v1", "one")
	must(t, os.Symlink("..data/sum", "conf.sum"))
	put(t, "conf", "one")
	w := start(t, "conf", reload.Options{SumFile: "conf.sum", Interval: time.Hour}) // by events alone
	w.until("one")
	put(t, "conf", "two")
	w.refusal()
	version("..v2", "two")
	w.until("two")
}

// A file that grows beyond the limit, and a large one within it.
func TestLarge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conf")
	must(t, os.WriteFile(path, make([]byte, 8<<20), 0o600))
	v, err := reload.Read(t.Context(), path, reload.Options{})
	if err != nil || len(v.Data) != 8<<20 {
		t.Errorf("%d bytes, %v", len(v.Data), err)
	}
	if _, err := reload.Read(t.Context(), path, reload.Options{MaxBytes: 8<<20 - 1}); err == nil {
		t.Error("one byte more than the limit was read")
	}
	if v, err = reload.Read(t.Context(), path, reload.Options{MaxBytes: 8 << 20}); err != nil || len(v.Data) != 8<<20 {
		t.Errorf("as long as the limit: %d bytes, %v", len(v.Data), err)
	}
}
