package datadir

import (
	"slices"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// fsKind is a file system by the number statfs gives (linux/magic.h).
type fsKind struct {
	name  string
	class Class
}

func kindOf(magic uint32) fsKind {
	switch magic {
	case 0xEF53:
		return fsKind{"ext4", Local}
	case 0x58465342:
		return fsKind{"xfs", Local}
	case 0x9123683E:
		return fsKind{"btrfs", Local}
	case 0x01021994:
		return fsKind{"tmpfs", Local}
	case 0x858458F6:
		return fsKind{"ramfs", Local}
	case 0xF2F52010:
		return fsKind{"f2fs", Local}
	case 0x2FC12FC1:
		return fsKind{"zfs", Local}
	case 0xCA451A4E:
		return fsKind{"bcachefs", Local}
	case 0x3153464A:
		return fsKind{"jfs", Local}
	case 0x4D44:
		return fsKind{"vfat", Local}
	case 0x2011BAB0:
		return fsKind{"exfat", Local}
	case 0x7366746E:
		return fsKind{"ntfs3", Local}
	case 0x73717368:
		return fsKind{"squashfs", Local}
	case 0xE0F5E1E2:
		return fsKind{"erofs", Local}
	case 0x52654973:
		return fsKind{"reiserfs", Local}
	case 0x3434:
		return fsKind{"nilfs2", Local}
	case 0x482B:
		return fsKind{"hfsplus", Local}
	case 0x00011954:
		return fsKind{"ufs", Local}
	case 0x794C7630:
		return fsKind{"overlay", Stacked}
	case 0xF15F:
		return fsKind{"ecryptfs", Stacked}
	}
	return remoteKind(magic)
}

func remoteKind(magic uint32) fsKind {
	switch magic {
	case 0x6969:
		return fsKind{"nfs", Network}
	case 0x517B, 0xFF534D42, 0xFE534D42:
		return fsKind{"cifs", Network}
	case 0x00C36400:
		return fsKind{"ceph", Network}
	case 0x01161970:
		return fsKind{"gfs2", Network}
	case 0x7461636F:
		return fsKind{"ocfs2", Network}
	case 0x0BD00BD0:
		return fsKind{"lustre", Network}
	case 0x47504653:
		return fsKind{"gpfs", Network}
	case 0x5346414F:
		return fsKind{"afs", Network}
	case 0x01021997:
		return fsKind{"9p", Network}
	case 0x65735546:
		return fsKind{"fuse", Userspace}
	}
	return fsKind{"", Unknown}
}

// ClassOf names the class of a mount by its type, for mount tables read from
// elsewhere.
func ClassOf(fsType string) Class {
	base, _, _ := strings.Cut(fsType, ".")
	switch base {
	case "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "f2fs", "zfs", "bcachefs", "jfs", "vfat", "exfat", "ntfs3", "squashfs", "reiserfs", "nilfs2", "erofs", "ufs", "hfsplus",
		"apfs", "hfs", "ffs", "hammer", "hammer2", "msdos", "msdosfs", "ntfs", "refs", "fat", "fat32":
		return Local
	case "overlay", "ecryptfs", "aufs", "nullfs", "null", "unionfs", "union":
		return Stacked
	case "nfs", "nfs4", "cifs", "smb3", "ceph", "gfs2", "ocfs2", "lustre", "gpfs", "afs", "9p", "virtiofs", "glusterfs", "beegfs", "smb", "smbfs", "afpfs", "webdav":
		return Network
	case "fuse", "fuseblk", "fusefs", "macfuse", "osxfuse":
		return Userspace
	}
	return Unknown
}

// Judge describes a mount and says in Warning why its locks may not reach
// everybody who can reach the files.
func Judge(m procfs.Mount) Filesystem {
	fsys := Filesystem{Type: m.Type, Class: ClassOf(m.Type), Source: m.Source, Point: m.Point}
	opts := slices.Concat(m.Options, m.Super)
	has := func(names ...string) string {
		for _, n := range names {
			if slices.Contains(opts, n) {
				return n
			}
		}
		return ""
	}
	switch fsys.Class {
	case Network:
		if o := has("nolock", "nobrl", "local_lock=all", "local_lock=posix", "nodfs_lock", "localflocks"); o != "" {
			fsys.Warning = "with option " + o + " locks are not shared with other hosts; one owner is promised on this host only"
		} else {
			fsys.Warning = "other hosts may reach this directory; one owner is promised only as far as the server shares locks"
		}
	case Userspace:
		fsys.Warning = "a userspace file system may keep locks to itself or ignore them; one owner is promised on this mount only"
	case Stacked:
		fsys.Warning = "the same files through another layer or mount have other locks; one owner is promised on this mount only"
	case Unknown:
		fsys.Warning = "this kind of file system is not known; one owner is promised only if its locks are real"
	}
	return fsys
}
