package procfs_test

import (
	"reflect"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
)

// fuzz feeds one file and checks what holds for any content: no panic, a *ParseError or a value, the same twice.
func fuzz[T any](f *testing.F, name string, read func(procfs.FS) (T, error), seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := read(one(name, text))
		if err != nil {
			refused(t, err, name, "")
			var zero T
			if !reflect.DeepEqual(got, zero) {
				t.Errorf("got %+v beside the error %v", got, err)
			}
		}
		again, _ := read(one(name, text))
		if !reflect.DeepEqual(got, again) {
			t.Errorf("got %+v, then %+v", got, again)
		}
	})
}

func FuzzStat(f *testing.F) {
	fuzz(f, "5/stat", func(p procfs.FS) (procfs.Stat, error) { return p.Stat(5) },
		"412 (postgres) S"+afterState, "412 (a) Z 1 2 () S"+afterState, "412 (a\nb) Z"+afterState, "", ")(", "1 () ")
}

func FuzzStatus(f *testing.F) {
	fuzz(f, "5/status", func(p procfs.FS) (procfs.Status, error) { return p.Status(5) },
		minimalStatus, minimalStatus+"NSpid:\t7\t1\n", "Tgid:", "Uid:\t\n\n", "")
}

func FuzzLocks(f *testing.F) {
	fuzz(f, "locks", func(p procfs.FS) ([]procfs.Lock, error) { return p.Locks() },
		"1: FLOCK  ADVISORY  WRITE 300 08:01:131091 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 500 08:01:131091 0 EOF\n",
		"2:   -> OFDLCK ADVISORY  READ -1 fd:1a:131091 128 255", "3: POSIX  *NOINODE* READ 0 <none>:0 0 0\n", "1:->", ":", "\n")
}

func FuzzFDInfo(f *testing.F) {
	fuzz(f, "5/fdinfo/3", func(p procfs.FS) (procfs.FDInfo, error) { return p.FDInfo(5, 3) },
		"pos:\t96\nflags:\t02100002\nmnt_id:\t21\nino:\t131091\nlock:\t1: FLOCK  ADVISORY  WRITE 300 08:01:131091 0 EOF\n",
		"flags:\t0\ntfd: 5 events: 19 data: 5  pos:0 ino:61af sdev:7\n", "flags:", "lock:\t\n", "")
}

func FuzzMounts(f *testing.F) {
	fuzz(f, "5/mountinfo", func(p procfs.FS) ([]procfs.Mount, error) { return p.Mounts(5) },
		"21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n",
		`36 21 0:44 /a\040b /c\134d\ rw - fuse.sshfs host:/a\040b rw,x=1\0542`, "40 21 0:50 / /run rw - tmpfs  rw", " - ", `\`)
}

func FuzzCgroups(f *testing.F) {
	fuzz(f, "5/cgroup", func(p procfs.FS) ([]procfs.Cgroup, error) { return p.Cgroups(5) },
		"4:cpu,cpuacct:/\n1:name=systemd:/a.service\n0::/a:b\n", "0::/", "::", "\n", "")
}

func FuzzCmdline(f *testing.F) {
	f.Add("/bin/sh\x00-c\x00exit 1\x00")
	f.Add("\x00\x00")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := one("5/cmdline", text).Cmdline(5); err != nil {
			t.Error(err)
		}
	})
}
