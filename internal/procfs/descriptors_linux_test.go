package procfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/procfs"
)

// The cheap way tells what stat and fdinfo tell.
func TestLiveDescriptors(t *testing.T) {
	dir := t.TempDir()
	write, err := os.Create(filepath.Join(dir, "write"))
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	read, err := os.Open(filepath.Join(dir, "write"))
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := write.Write(make([]byte, 10000)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(write.Name()); err != nil {
		t.Fatal(err)
	}
	all, err := procfs.Default().Descriptors(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		file     *os.File
		kind     procfs.FileType
		writable bool
	}{{write, procfs.Regular, true}, {read, procfs.Regular, false}, {folder, procfs.Directory, false}} {
		i := slices.IndexFunc(all, func(d procfs.Descriptor) bool { return d.FD == int(want.file.Fd()) })
		if i < 0 {
			t.Fatalf("descriptor %d is not in %+v", want.file.Fd(), all)
		}
		var st unix.Stat_t
		if err := unix.Fstat(all[i].FD, &st); err != nil {
			t.Fatal(err)
		}
		d := all[i]
		writable, err := procfs.Default().Writable(0, d.FD)
		if err != nil || writable != want.writable {
			t.Errorf("descriptor %d is writable: %v, %v", d.FD, writable, err)
		}
		if f, err := procfs.Default().File(0, d.FD); err != nil || f != d.File {
			t.Errorf("%+v alone is %+v, %v", d, f, err)
		}
		if info, err := procfs.Default().FDInfo(0, d.FD); err != nil || info.MountID != d.Mount {
			t.Errorf("%+v, mount in fdinfo %d, %v", d, info.MountID, err)
		}
		if d.Type != want.kind || d.Dev != uint64(st.Dev) || d.Ino != uint64(st.Ino) || uint64(d.Links) != uint64(st.Nlink) {
			t.Errorf("%+v, stat %+v", d, st)
		}
		if d.Type == procfs.Regular && (d.Links != 0 || d.Size != 10000 || d.Bytes != st.Blocks*512) {
			t.Errorf("%+v, stat %+v", d, st)
		}
	}
	if _, err := procfs.Default().Descriptors(1<<22+1, nil); err == nil {
		t.Error("no error for a process that cannot be")
	}
	if _, err := procfs.Default().Writable(0, 1<<20); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a descriptor that is not open: %v", err)
	}
}

// A removed file that is mapped is found, with its room.
func TestLiveMapped(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "mapped"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(8192); err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, 8192, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	found, _, err := procfs.Default().RemovedMappings(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(found, func(m procfs.Mapping) bool { return m.Path == file.Name() })
	if i < 0 {
		t.Fatalf("%+v", found)
	}
	if f, err := procfs.Default().Mapped(0, found[i]); err == nil && (f.Ino != found[i].Ino || f.Links != 0 || f.Size != 8192) {
		t.Errorf("%+v", f)
	}
}
