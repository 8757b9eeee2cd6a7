package procfs_test

import (
	"math"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/procfs"
)

func TestLockRows(t *testing.T) {
	for name, test := range map[string]struct {
		row  string
		want procfs.Lock
	}{
		"flock": {
			"1: FLOCK  ADVISORY  WRITE 359 00:13:11691 0 EOF",
			procfs.Lock{
				ID: 1, Type: "FLOCK", Mode: "ADVISORY", Advisory: true, Access: "WRITE", Write: true,
				PID: 359, Minor: 0x13, Inode: 11691, End: math.MaxUint64,
			},
		},
		"OFD": {
			"2: OFDLCK ADVISORY  READ -1 fd:1a:11691 128 255",
			procfs.Lock{
				ID: 2, Type: "OFDLCK", Mode: "ADVISORY", Advisory: true, Access: "READ",
				PID: -1, Major: 0xfd, Minor: 0x1a, Inode: 11691, Start: 128, End: 255,
			},
		},
		"POSIX to the end": {
			"3: POSIX  ADVISORY  WRITE 7 103:00005:18446744073709551615 1073741826 EOF",
			procfs.Lock{
				ID: 3, Type: "POSIX", Mode: "ADVISORY", Advisory: true, Access: "WRITE", Write: true,
				PID: 7, Major: 0x103, Minor: 5, Inode: math.MaxUint64, Start: 1073741826, End: math.MaxUint64,
			},
		},
		"mandatory": {
			"4: POSIX  MANDATORY READ 7 08:01:5 0 9223372036854775806",
			procfs.Lock{
				ID: 4, Type: "POSIX", Mode: "MANDATORY", Access: "READ",
				PID: 7, Major: 8, Minor: 1, Inode: 5, End: 9223372036854775806,
			},
		},
		"lease": {
			"5: LEASE  BREAKING  UNLCK 7 08:01:5 0 EOF",
			procfs.Lock{
				ID: 5, Type: "LEASE", Mode: "BREAKING", Access: "UNLCK",
				PID: 7, Major: 8, Minor: 1, Inode: 5, End: math.MaxUint64,
			},
		},
		"no inode": {
			"6: POSIX  *NOINODE* READ 0 <none>:0 0 0",
			procfs.Lock{ID: 6, Type: "POSIX", Mode: "*NOINODE*", Access: "READ"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := one("locks", test.row+"\n").Locks()
			check(t, got, err, []procfs.Lock{test.want})
			info, err := one("5/fdinfo/3", "pos:\t0\nflags:\t02\nlock:\t"+test.row+"\n").FDInfo(5, 3)
			check(t, info.Locks, err, []procfs.Lock{test.want})
		})
	}
}

func TestLocksNestedWaiters(t *testing.T) {
	const row = "FLOCK  ADVISORY  WRITE 300 08:01:9 0 EOF\n"
	locks, err := one("locks", "1: "+row+"1: -> "+row+"1:  -> "+row+"1:    -> "+row+"1: -> "+row+"2: "+row+"2:-> "+row).Locks()
	if err != nil {
		t.Fatal(err)
	}
	var depths []int
	for _, lock := range locks {
		depths = append(depths, lock.Depth)
		if lock.Waiting != (lock.Depth > 0) || lock.PID != 300 || lock.Type != "FLOCK" {
			t.Errorf("got %+v", lock)
		}
	}
	check(t, depths, nil, []int{0, 1, 2, 4, 1, 0, 1})
}

func TestLocksNone(t *testing.T) {
	locks, err := one("locks", "").Locks()
	check(t, locks, err, nil)
}

func TestLocksMalformed(t *testing.T) {
	const good = "1: FLOCK  ADVISORY  WRITE 359 00:13:11691 0 EOF"
	for name, row := range map[string]string{
		"no colon":   "FLOCK",
		"blank line": "",
		"cut":        "1: FLOCK  ADVISORY  WRITE 359 00:13:11691",
		"too long":   good + " 5",
		"id":         "x" + good,
		"pid":        strings.Replace(good, "359", "pid", 1),
		"device":     strings.Replace(good, "00:13:", "00-13-", 1),
		"not hex":    strings.Replace(good, "13", "1g", 1),
		"wide minor": strings.Replace(good, "13", "100000000", 1),
		"inode":      strings.Replace(good, "11691", "", 1),
		"start":      strings.Replace(good, " 0 EOF", " EOF EOF", 1),
		"end":        strings.Replace(good, "EOF", "-5", 1),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := one("locks", good+"\n"+row+"\n").Locks()
			refused(t, err, "locks", row)
			if got != nil {
				t.Errorf("got %v beside the error", got)
			}
		})
	}
}

func TestFDInfo(t *testing.T) {
	for name, test := range map[string]struct {
		text     string
		want     procfs.FDInfo
		writable bool
	}{
		"read only":    {"pos:\t0\nflags:\t0100000\nmnt_id:\t26\nino:\t5\n", procfs.FDInfo{Flags: 0o100000, MountID: 26, Inode: 5}, false},
		"write only":   {"pos:\t12\nflags:\t02100001\nmnt_id:\t26\nino:\t5\n", procfs.FDInfo{Pos: 12, Flags: 0o2100001, MountID: 26, Inode: 5}, true},
		"both":         {"pos:\t0\nflags:\t0100002\nmnt_id:\t26\n", procfs.FDInfo{Flags: 0o100002, MountID: 26}, true},
		"neither":      {"flags:\t03", procfs.FDInfo{Flags: 3}, false},
		"negative pos": {"pos:\t-1\nflags:\t0\n", procfs.FDInfo{Pos: -1}, false},
		"epoll":        {"pos:\t0\nflags:\t02\ntfd: 5 events: 19 data: 5  pos:0 ino:61af sdev:7\n", procfs.FDInfo{Flags: 2}, true},
		"inotify":      {"flags:\t0\ninotify wd:3 ino:9e7e sdev:800013\n\nodd line\n", procfs.FDInfo{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := one("5/fdinfo/3", test.text).FDInfo(5, 3)
			check(t, got, err, test.want)
			check(t, got.Writable(), nil, test.writable)
		})
	}
}

func TestFDInfoMalformed(t *testing.T) {
	for text, line := range map[string]string{
		"":                                  "",
		"pos:\t0\n":                         "pos:",
		"pos:\tx\nflags:\t0\n":              "pos:x",
		"flags:\t9\n":                       "flags:9",
		"flags:\t0\nmnt_id:\t\n":            "mnt_id:",
		"flags:\t0\nino:\t-1\n":             "ino:-1",
		"flags:\t0\nlock:\t1: FLOCK x\n":    "1: FLOCK x",
		"flags:\t0\nlock:\n":                "",
		"flags:\t02\x00\npos:\t0\n":         "flags:02\x00",
		"flags:\t7777777777777777777777777": "flags:7777",
	} {
		_, err := one("5/fdinfo/3", text).FDInfo(5, 3)
		refused(t, err, "5/fdinfo/3", line)
	}
}
