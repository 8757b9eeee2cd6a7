package procfs

import (
	"slices"
	"strings"
)

// Mount is one line of mountinfo. See proc_pid_mountinfo(5).
type Mount struct {
	// ID is unique among the mounts of now; it is reused after an unmount. [FDInfo.MountID] refers to it.
	ID int
	// Parent is the mount it is mounted on; the root's own, or one that the reader cannot see.
	Parent int
	// Major is the device, as stat(2) tells it for files on most file systems.
	Major uint32
	// Minor belongs to Major.
	Minor uint32
	// Root is the folder within the file system that is mounted: "/" unless it is a bind mount or a subvolume.
	Root string
	// Point is where it is mounted, relative to the process' root.
	Point string
	// Options are those of the mount, such as "ro" or "noatime".
	Options []string
	// Optional are the propagation fields, such as "shared:12"; often none.
	Optional []string
	// Type is the file system's, such as "ext4", "nfs4" or "fuse.sshfs".
	Type string
	// Source is the device, or what the file system takes for one: "server:/export" for NFS; may be empty.
	Source string
	// Super are the options of the file system itself, such as "local_lock=none" or "hidepid=invisible".
	Super []string
}

// Mounts reads /proc/N/mountinfo: the mounts in the process' namespace that it can reach, in the kernel's order. Where
// two have the same point, the later one covers the earlier.
func (f FS) Mounts(pid int) ([]Mount, error) {
	return load(f, dir(pid)+"/mountinfo", listLimit, parseMounts)
}

func parseMounts(text string) ([]Mount, error) {
	var mounts []Mount
	for line := range strings.Lines(text) {
		mount, err := parseMount(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, mount)
	}
	return mounts, nil
}

const (
	// mountColumns is how many columns precede the optional ones: id, parent, device, root, point, options.
	mountColumns = 6
	// superColumns is how many follow the dash: type, source, super options.
	superColumns = 3
)

// parseMount splits at single blanks, not at runs of them: an empty source is printed as nothing.
func parseMount(line string) (Mount, error) {
	before, after, found := strings.Cut(line, " - ")
	cols, tail := strings.Split(before, " "), strings.SplitN(after, " ", superColumns)
	if !found || len(cols) < mountColumns || len(tail) != superColumns {
		return Mount{}, malformed(line, errColumns)
	}
	var c columns
	major, minor, _ := strings.Cut(cols[2], ":")
	mount := Mount{
		ID:      c.int(cols[0]),
		Parent:  c.int(cols[1]),
		Major:   c.uint32(major, 10),
		Minor:   c.uint32(minor, 10),
		Root:    unescape(cols[3]),
		Point:   unescape(cols[4]),
		Options: options(cols[5]),
		Type:    unescape(tail[0]),
		Source:  unescape(tail[1]),
		Super:   options(tail[2]),
	}
	if optional := cols[mountColumns:]; len(optional) > 0 {
		mount.Optional = slices.Clone(optional)
	}
	return mount, c.in(line)
}

// options splits before it decodes: a comma inside an option is written \054.
func options(s string) []string {
	list := strings.Split(s, ",")
	for i, option := range list {
		list[i] = unescape(option)
	}
	return list
}

// unescape decodes the kernel's \040 and the like. A backslash before anything else stands for itself.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		char := s[i]
		if octal, ok := escaped(s[i:]); ok {
			char = octal
			i += 3
		}
		out = append(out, char)
	}
	return string(out)
}

// escaped reads a backslash and three octal digits at the beginning of s.
func escaped(s string) (byte, bool) {
	if len(s) < 4 || s[0] != '\\' || s[1] > '3' {
		return 0, false
	}
	value := 0
	for i := 1; i < 4; i++ {
		if s[i] < '0' || s[i] > '7' {
			return 0, false
		}
		value = value<<3 | int(s[i]-'0')
	}
	return byte(value), true
}
