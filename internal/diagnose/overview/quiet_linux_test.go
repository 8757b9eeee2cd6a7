package overview_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/procfs"
)

// counted is a /proc that counts what is opened and listed in it.
type counted struct {
	fstest.MapFS
	opened, listed *int
}

func (c counted) Open(name string) (fs.File, error) {
	*c.opened++
	return c.MapFS.Open(name)
}

func (c counted) ReadDir(name string) ([]fs.DirEntry, error) {
	*c.listed++
	return c.MapFS.ReadDir(name)
}

// row is a row of the kernel's list: of a lock of solehold on a file, or of somebody's.
func row(t *testing.T, number int, path string, own bool) string {
	t.Helper()
	var st syscall.Stat_t
	must(t, syscall.Stat(path, &st))
	kind, start := "FLOCK ", "0"
	if own {
		kind, start = "OFDLCK", "4611686018427387904"
	}
	return fmt.Sprintf("%d: %s ADVISORY  WRITE -1 %02x:%02x:%d %s %s\n", number, kind, st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&0xfff00, st.Ino, start, start)
}

// What a second costs where nothing changes, counted: one file of the kernel's is
// opened, whoever else locks something meanwhile, and less than half of the
// directories' files are asked for. A change is seen all the same: of who holds a
// directory at once, of what was written within seconds.
func TestQuietLook(t *testing.T) {
	t.Parallel()
	base := dataDir(t)
	const many, looks = 450, 12
	var dirs []string
	for i := range many {
		dirs = append(dirs, filepath.Join(base, fmt.Sprintf("d%03d", i)))
		must(t, os.Mkdir(dirs[i], 0o755))
		history(t, dirs[i], journal.Event{Time: time.Now(), Kind: journal.Refused, PID: 7})
		must(t, os.WriteFile(filepath.Join(dirs[i], ".solehold", "lock"), nil, 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		var opened, listed int
		proc := counted{fstest.MapFS{"self/mountinfo": {Data: []byte("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")}}, &opened, &listed}
		locks := func(text string) { proc.MapFS["locks"] = &fstest.MapFile{Data: []byte(text)} }
		locks(row(t, 1, dirs[0], true))
		w := overview.NewWatcher(overview.Options{Paths: dirs, Examine: -1, Timeout: patience, Proc: procfs.New(proc)})
		asked := w.CountFiles()
		look := func() overview.Host {
			<-time.After(time.Second)
			return w.Look(t.Context())
		}
		h := look()
		opened, listed = 0, 0
		asked.Store(0)
		for i := range looks {
			locks(row(t, 1, base, false) + row(t, 2+i, dirs[0], true)) // somebody locks something of his own
			if again := look(); again.Revision != h.Revision {
				t.Error("it has changed")
			}
		}
		if opened != looks || listed != 0 {
			t.Errorf("%d files of the kernel's were opened, %d folders listed", opened, listed)
		}
		if n := asked.Load(); n == 0 || n > looks*many*4/10 {
			t.Errorf("%d files were asked for in %d looks at %d directories", n, looks, many)
		}
		locks("")
		look()
		if asked.Store(0); len(h.Directories) != many {
			t.Errorf("%d directories", len(h.Directories))
		}
		history(t, dirs[3], journal.Event{Time: time.Now(), Kind: journal.Refused, PID: 8})
		for i := 0; ; i++ {
			if d, _ := look().Find(dirs[3]); d.Refusals == 2 {
				break
			}
			if i > many/100 {
				t.Fatal("a change was not seen")
			}
		}
		before, _ := w.Last().Find(dirs[5])
		locks(row(t, 1, dirs[5], true))
		if now, _ := look().Find(dirs[5]); !now.Looked.After(before.Looked) {
			t.Error("that somebody has it now was not seen at once")
		}
	})
}
