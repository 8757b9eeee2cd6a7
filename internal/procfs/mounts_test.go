package procfs_test

import (
	"testing"

	"github.com/solehold/solehold/internal/procfs"
)

func TestMounts(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want procfs.Mount
	}{
		"plain": {
			"21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro",
			procfs.Mount{
				ID: 21, Parent: 1, Major: 8, Minor: 1, Root: "/", Point: "/", Options: []string{"rw", "relatime"},
				Optional: []string{"shared:1"}, Type: "ext4", Source: "/dev/sda1", Super: []string{"rw", "errors=remount-ro"},
			},
		},
		"escapes": {
			`36 21 0:44 /sub\040dir /mnt/my\040disk\011x\134y\012z rw master:5 propagate_from:2 unbindable - fuse.sshfs host:/a\040b rw,x=1\0542`,
			procfs.Mount{
				ID: 36, Parent: 21, Minor: 44, Root: "/sub dir", Point: "/mnt/my disk\tx\\y\nz", Options: []string{"rw"},
				Optional: []string{"master:5", "propagate_from:2", "unbindable"},
				Type:     "fuse.sshfs", Source: "host:/a b", Super: []string{"rw", "x=1,2"},
			},
		},
		"no optional, empty source": {
			"40 21 0:50 / /run rw - tmpfs  rw,size=1k",
			procfs.Mount{
				ID: 40, Parent: 21, Minor: 50, Root: "/", Point: "/run", Options: []string{"rw"},
				Type: "tmpfs", Super: []string{"rw", "size=1k"},
			},
		},
		"dash as a name": {
			"41 21 0:51 / /- rw - tmpfs - rw",
			procfs.Mount{
				ID: 41, Parent: 21, Minor: 51, Root: "/", Point: "/-", Options: []string{"rw"},
				Type: "tmpfs", Source: "-", Super: []string{"rw"},
			},
		},
		"namespace file": {
			"42 21 0:4 net:[4026532281] /run/netns/a rw shared:7 - nsfs nsfs rw",
			procfs.Mount{
				ID: 42, Parent: 21, Minor: 4, Root: "net:[4026532281]", Point: "/run/netns/a", Options: []string{"rw"},
				Optional: []string{"shared:7"}, Type: "nsfs", Source: "nsfs", Super: []string{"rw"},
			},
		},
		"stray backslashes": {
			`43 21 0:4 /\ /\9\08\400\04 rw - t s\ rw`,
			procfs.Mount{
				ID: 43, Parent: 21, Minor: 4, Root: `/\`, Point: `/\9\08\400\04`, Options: []string{"rw"},
				Type: "t", Source: `s\`, Super: []string{"rw"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := one("5/mountinfo", test.line+"\n").Mounts(5)
			check(t, got, err, []procfs.Mount{test.want})
		})
	}
}

func TestMountsKeepTheirOrder(t *testing.T) {
	mounts, err := procfs.New(tree()).Mounts(412)
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for _, mount := range mounts {
		points = append(points, mount.Point)
	}
	check(t, points, nil, []string{"/", "/proc"})
	check(t, mounts[1].Super, nil, []string{"rw", "hidepid=invisible"})
}

func TestMountsMalformed(t *testing.T) {
	const good = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	for _, line := range []string{
		"x 1 8:1 / / rw - ext4 /dev/sda1 rw",
		"21 x 8:1 / / rw - ext4 /dev/sda1 rw",
		"21 1 8 / / rw - ext4 /dev/sda1 rw",
		"21 1 8:-1 / / rw - ext4 /dev/sda1 rw",
		"21 1 8:1 / / rw ext4 /dev/sda1 rw",
		"21 1 8:1 / / - ext4 /dev/sda1 rw",
		"21 1 8:1 / / rw - ext4 /dev/sda1",
		" - ",
	} {
		got, err := one("5/mountinfo", good+line+"\n").Mounts(5)
		refused(t, err, "5/mountinfo", line)
		if got != nil {
			t.Errorf("%s: got %v beside the error", line, got)
		}
	}
}
