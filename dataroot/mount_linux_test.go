package dataroot_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/solehold/solehold/dataroot"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// mountsVar set, this process has a mount namespace of its own.
const mountsVar = "DATAROOT_TEST_MOUNTS"

// Real disks come and go, where nobody else sees the mounts.
func TestMounts(t *testing.T) {
	testneed.Root(t)
	if os.Getenv(mountsVar) == "" {
		t.Parallel()
		self, err := os.Executable()
		must(t, err)
		cmd := exec.Command(self, "-test.run=^TestMounts$", "-test.v")
		cmd.Env = append(os.Environ(), mountsVar+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if err != nil || bytes.Count(out, []byte("    --- PASS")) != 6 {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for name, test := range map[string]func(t *testing.T, base, pins string){
		"base": mountBase, "root": mountRoot, "moved": mountMoved, "read-only": mountReadOnly, "full": mountFull, "below": mountBelow,
	} {
		t.Run(name, func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "disk"), t.TempDir()) })
	}
}

// disk mounts an empty disk.
func disk(t *testing.T, name, at string, flags uintptr) {
	t.Helper()
	must(t, os.MkdirAll(at, 0o755), unix.Mount(name, at, "tmpfs", flags, "size=4m,mode=755"))
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
}

func refusedAs(t *testing.T, base string, o *dataroot.Options) *dataroot.PinnedError {
	t.Helper()
	var pinned *dataroot.PinnedError
	if r, err := dataroot.Open(t.Context(), base, "kb", o); !errors.As(err, &pinned) {
		if err == nil {
			r.Close()
		}
		t.Fatalf("not refused: %v", err)
	}
	return pinned
}

// The base's disk is not mounted, or another one is: the root is not born again, and
// nothing is made. The twins: without the note it is, and what is made to be
// removed needs no disk of its own.
func mountBase(t *testing.T, base, pins string) {
	disk(t, "disk-a", base, 0)
	o := &dataroot.Options{Pins: pins}
	open(t, base, "kb", o).Close()
	must(t, unix.Unmount(base, 0))
	if e := refusedAs(t, base, o); e.Born.Source != "disk-a" || e.Root {
		t.Errorf("%+v", e)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("made: %v, %v", left, err)
	}
	open(t, base, "scratch", &dataroot.Options{Pins: pins, Ephemeral: true}).Close()
	open(t, base, "kb", &dataroot.Options{Pins: pins, NoPin: true}).Close()
	if e := refusedAs(t, base, o); e.Born.Source != "disk-a" { // that one lies there now, and is not it
		t.Errorf("%+v", e)
	}
	disk(t, "disk-b", base, 0)
	if e := refusedAs(t, base, o); e.Here.Source != "disk-b" {
		t.Errorf("%+v", e)
	}
	must(t, unix.Unmount(base, 0))
	disk(t, "disk-a", base, 0)
	open(t, base, "kb", o).Close()
}

// The disk is mounted on the root itself: without it an empty folder is left.
func mountRoot(t *testing.T, base, pins string) {
	must(t, os.Mkdir(base, 0o755))
	o := &dataroot.Options{Pins: pins}
	dir := filepath.Join(base, "kb")
	disk(t, "disk-a", dir, 0)
	open(t, base, "kb", o).Close()
	must(t, unix.Unmount(dir, 0))
	refusedAs(t, base, o)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("made: %v, %v", left, err)
	}
}

// A root that was copied to another disk is refused there until that is wanted.
func mountMoved(t *testing.T, base, pins string) {
	disk(t, "disk-a", base, 0)
	o := &dataroot.Options{Pins: pins}
	r := open(t, base, "kb", o)
	must(t, r.WriteFile("x", []byte("data")), r.Close())
	text, err := os.ReadFile(filepath.Join(r.Dir(), ".root.json"))
	must(t, err, unix.Unmount(base, 0))
	disk(t, "disk-b", base, 0)
	must(t, os.Mkdir(r.Dir(), 0o700), os.WriteFile(filepath.Join(r.Dir(), ".root.json"), text, 0o600))
	if e := refusedAs(t, base, o); !e.Root {
		t.Errorf("%v", e)
	}
	moved := open(t, base, "kb", &dataroot.Options{Pins: pins, Adopt: true})
	if moved.Meta().UUID != r.Meta().UUID || moved.Meta().Device.Source != "disk-b" {
		t.Errorf("%+v", moved.Meta())
	}
	moved.Close()
	open(t, base, "kb", o).Close()
	must(t, unix.Unmount(base, 0))
	disk(t, "disk-a", base, 0)
	refusedAs(t, base, o)
}

// Nothing is made on a read-only disk, and the error is named.
func mountReadOnly(t *testing.T, base, pins string) {
	disk(t, "disk-a", base, unix.MS_RDONLY)
	if _, err := dataroot.Open(t.Context(), base, "kb", &dataroot.Options{Pins: pins}); !errors.Is(err, unix.EROFS) {
		t.Errorf("%v", err)
	}
	if _, err := dataroot.GC(t.Context(), base, false, nil); err != nil {
		t.Error(err)
	}
}

// A full disk: the old content stays, and no half of the new one.
func mountFull(t *testing.T, base, pins string) {
	disk(t, "disk-a", base, 0)
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	must(t, r.WriteFile("x", []byte("old")))
	if err := r.WriteFile("x", make([]byte, 8<<20)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v", err)
	}
	text, err := fs.ReadFile(r, "x")
	if err != nil || string(text) != "old" {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if found, _ := filepath.Glob(filepath.Join(r.Dir(), ".new-*")); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
}

// A folder of a root may lie on another disk, where files are whole as well.
func mountBelow(t *testing.T, base, pins string) {
	must(t, os.Mkdir(base, 0o755))
	r := open(t, base, "kb", &dataroot.Options{Pins: pins})
	disk(t, "disk-a", filepath.Join(r.Dir(), "big"), 0)
	must(t, r.WriteFile("big/deep/x", []byte("1")))
	if text, err := fs.ReadFile(r, "big/deep/x"); err != nil || string(text) != "1" {
		t.Errorf("%q, %v", text, err)
	}
}
