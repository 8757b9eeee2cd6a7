package datadir_test

import (
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/procfs"
)

// TestMounts is case C23: lines of mountinfo, from its type on.
func TestMounts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line, options string
		class         datadir.Class
		words         string // of the warning, which there is none without
	}{
		{"ext4 /dev/vda rw,relatime", "rw", datadir.Local, ""},
		{"xfs /dev/sda1 rw,attr2,inode64,noquota", "rw", datadir.Local, ""},
		{"btrfs /dev/sda1 rw,space_cache=v2,subvolid=5,subvol=/", "rw", datadir.Local, ""},
		{"tmpfs tmpfs rw,size=64k", "rw", datadir.Local, ""},
		{"zfs tank/data rw,xattr,posixacl", "rw", datadir.Local, ""},
		{"ext4 /dev/vda rw", "ro,nolock", datadir.Local, ""}, // means nothing there
		{"cifs //nas/share rw,vers=3.1.1,nobrl", "rw", datadir.Network, "with option nobrl locks are not shared"},
		{"cifs //nas/share rw,vers=3.1.1", "rw", datadir.Network, "other hosts may reach"},
		{"smb3 //nas/share rw,nobrl", "rw", datadir.Network, "nobrl"},
		{"nfs nas:/export rw,vers=3,local_lock=all,addr=10.0.0.2", "rw", datadir.Network, "with option local_lock=all"},
		{"nfs nas:/export rw,vers=3,nolock,local_lock=all", "rw", datadir.Network, "with option nolock"},
		{"nfs4 nas:/export rw,vers=4.2,local_lock=posix", "rw", datadir.Network, "with option local_lock=posix"},
		{"nfs4 nas:/export rw,vers=4.2,local_lock=none", "rw", datadir.Network, "only as far as the server"},
		{"nfs4 nas:/export rw,local_lock=flock", "rw", datadir.Network, "only as far as the server"}, // ours are not flock's
		{"nfs nas:/export rw", "rw,nolock", datadir.Network, "with option nolock"},
		{"fuse.sshfs me@host:/srv rw,user_id=0,group_id=0", "rw", datadir.Userspace, "userspace file system"},
		{"fuse.s3fs s3fs rw,user_id=0,group_id=0,allow_other", "rw", datadir.Userspace, "userspace file system"},
		{"fuse.glusterfs host:/vol rw", "rw", datadir.Userspace, "userspace"},
		{"fuseblk /dev/sdb1 rw,blksize=4096", "rw", datadir.Userspace, "userspace"},
		{"fuse /dev/fuse rw", "rw", datadir.Userspace, "userspace"},
		{"9p share rw,trans=virtio,version=9p2000.L", "rw", datadir.Network, "other hosts"},
		{"virtiofs share rw", "rw", datadir.Network, "other hosts"},
		{"ceph 10.0.0.2:6789:/ rw,acl", "rw", datadir.Network, "other hosts"},
		{"ocfs2 /dev/sdb rw,localflocks", "rw", datadir.Network, "with option localflocks"},
		{"overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c", "rw", datadir.Stacked, "another layer"},
		{"proc proc rw", "rw", datadir.Unknown, "not known"},
		{"newfs x rw", "rw", datadir.Unknown, "not known"},
		{"  ", "rw", datadir.Unknown, "not known"},
		{"ext4x /dev/sdc rw", "rw", datadir.Unknown, "not known"},
	} {
		f := strings.Split(test.line, " ")
		got := datadir.Judge(procfs.Mount{
			Type: f[0], Source: f[1], Super: strings.Split(f[2], ","), Options: strings.Split(test.options, ","), Point: "/srv",
		})
		if got.Type != f[0] || got.Source != f[1] || got.Point != "/srv" || got.Class != test.class {
			t.Errorf("%s: got %+v, want %s", test.line, got, test.class)
		}
		if (got.Warning == "") != (test.words == "") || !strings.Contains(got.Warning, test.words) {
			t.Errorf("%s: %q has to say %q", test.line, got.Warning, test.words)
		}
	}
}

// The number that statfs gives and the type of a mount lead to one class, so
// that a strict start and its message agree.
func TestKindsAgree(t *testing.T) {
	t.Parallel()
	for name, magic := range map[string]uint32{
		"ext4": 0xEF53, "xfs": 0x58465342, "btrfs": 0x9123683E, "tmpfs": 0x01021994, "ramfs": 0x858458F6,
		"f2fs": 0xF2F52010, "zfs": 0x2FC12FC1, "bcachefs": 0xCA451A4E, "jfs": 0x3153464A, "vfat": 0x4D44,
		"exfat": 0x2011BAB0, "ntfs3": 0x7366746E, "squashfs": 0x73717368, "erofs": 0xE0F5E1E2, "reiserfs": 0x52654973,
		"nilfs2": 0x3434, "hfsplus": 0x482B, "ufs": 0x00011954,
		"overlay": 0x794C7630, "ecryptfs": 0xF15F,
		"nfs": 0x6969, "ceph": 0x00C36400, "gfs2": 0x01161970, "ocfs2": 0x7461636F, "lustre": 0x0BD00BD0,
		"gpfs": 0x47504653, "afs": 0x5346414F, "9p": 0x01021997, "fuse": 0x65735546, "": 0x9fa0,
	} {
		got, class := datadir.KindOf(magic)
		if got != name || class != datadir.ClassOf(name) {
			t.Errorf("%#x is %q and %s; by name %s", magic, got, class, datadir.ClassOf(name))
		}
	}
	for _, magic := range []uint32{0x517B, 0xFF534D42, 0xFE534D42} {
		if got, class := datadir.KindOf(magic); got != "cifs" || class != datadir.Network {
			t.Errorf("%#x is %q and %s", magic, got, class)
		}
	}
}

// Names of the file systems of other platforms have their class too.
func TestClassesOfOtherSystems(t *testing.T) {
	for kind, want := range map[string]datadir.Class{
		"ntfs": datadir.Local, "refs": datadir.Local, "apfs": datadir.Local, "ffs": datadir.Local, "fat32": datadir.Local,
		"smb": datadir.Network, "smbfs": datadir.Network, "afpfs": datadir.Network, "macfuse": datadir.Userspace,
		"nullfs": datadir.Stacked, "unionfs": datadir.Stacked, "": datadir.Unknown,
	} {
		if got := datadir.ClassOf(kind); got != want {
			t.Errorf("%q: %s, want %s", kind, got, want)
		}
	}
}
