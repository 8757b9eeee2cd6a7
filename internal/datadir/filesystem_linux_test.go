package datadir_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// where describes a directory, and checks that both ways to its class agree.
func where(t *testing.T, dir string) datadir.Filesystem {
	t.Helper()
	d := open(t, dir)
	got := d.Filesystem(procfs.Default())
	class, err := d.FilesystemClass()
	if err != nil || class != got.Class {
		t.Errorf("%s: class %s, %v; by its mount %+v", dir, class, err, got)
	}
	if bare := d.Filesystem(procfs.New(fstest.MapFS{})); bare.Class != class || bare.Warning != got.Warning || bare.Point != "" {
		t.Errorf("%s: without the table of mounts %+v, with it %+v", dir, bare, got)
	}
	return got
}

func TestFilesystemHere(t *testing.T) {
	t.Parallel()
	dir := place(t)
	got := where(t, dir)
	if got.Type == "" || got.Point == "" || !strings.HasPrefix(dir, got.Point) {
		t.Errorf("got %+v", got)
	}
	if (got.Class == datadir.Local) != (got.Warning == "") {
		t.Errorf("class %s, warning %q", got.Class, got.Warning)
	}
}

func TestFilesystemsMounted(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	if !inside(t, ownMounts()) {
		return
	}
	base := place(t)
	must(t, unix.Mount("scratch", base, "tmpfs", 0, ""))
	defer unix.Unmount(base, unix.MNT_DETACH)
	sub := func(name string) string { return mkdir(t, base+"/"+name, -1, 0o755) }
	lower, upper, work, merged, bind, ram, two := sub("lower"), sub("upper"), sub("work"), sub("merged"), sub("my bind"), sub("ram"), sub("two")
	must(t, unix.Mount("layers", merged, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)))
	must(t, unix.Mount(lower, bind, "", unix.MS_BIND, ""))
	must(t, unix.Mount("ramfs", ram, "ramfs", 0, ""))
	must(t, unix.Mount("first", two, "tmpfs", 0, ""))
	must(t, unix.Mount("second", two, "ramfs", 0, ""))
	for dir, want := range map[string]datadir.Filesystem{
		base:   {Type: "tmpfs", Class: datadir.Local, Source: "scratch", Point: base},
		lower:  {Type: "tmpfs", Class: datadir.Local, Source: "scratch", Point: base},
		bind:   {Type: "tmpfs", Class: datadir.Local, Source: "scratch", Point: bind},
		ram:    {Type: "ramfs", Class: datadir.Local, Source: "ramfs", Point: ram},
		two:    {Type: "ramfs", Class: datadir.Local, Source: "second", Point: two}, // the upper one counts
		merged: {Type: "overlay", Class: datadir.Stacked, Source: "layers", Point: merged},
		"/sys": {Type: "sysfs", Class: datadir.Unknown, Source: "sysfs", Point: "/sys"},
	} {
		got := where(t, dir)
		warning := got.Warning
		got.Warning = ""
		if dir == "/sys" {
			got.Source = want.Source
		}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if (warning == "") != (want.Class == datadir.Local) {
			t.Errorf("%s: warning %q", want.Type, warning)
		}
	}
	if open(t, lower).Key() == open(t, merged).Key() {
		t.Error("an overlay has the key of its layer")
	}
	if open(t, lower).Key() != open(t, bind).Key() {
		t.Error("a bind mount has another key")
	}
}

// A mount that is not in the table, as in a table of another mount namespace.
func TestFilesystemOfAnotherTable(t *testing.T) {
	t.Parallel()
	dir := place(t)
	for _, text := range []string{"", "999999999 0 8:1 / / rw - ext4 /dev/elsewhere rw\n", "nonsense\n"} {
		table := procfs.New(fstest.MapFS{"self/mountinfo": {Data: []byte(text)}})
		got := open(t, dir).Filesystem(table)
		if got.Source != "" || got.Point != "" || got.Class != where(t, dir).Class {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}
