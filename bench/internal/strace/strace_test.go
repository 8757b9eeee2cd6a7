package strace_test

import (
	"slices"
	"testing"

	"github.com/solehold/solehold/bench/internal/strace"
)

const trace = `7 execve("/x", ["/x"], 0x1 /* 9 vars */) = 0
7 openat(AT_FDCWD, "/d", O_RDONLY|O_CLOEXEC <unfinished ...>
8 futex(0x122eba800160, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>
7 <... openat resumed>) = 7
7 fstat(7, {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0
7 fgetxattr(7, "user.x", 0xff, 4096) = -1 ENODATA (No data available)
7 fcntl(9, F_OFD_SETLK,  <unfinished ...>
7 <... fcntl resumed>{l_type=F_WRLCK, l_whence=SEEK_SET, l_start=46, l_len=1}) = -1 EAGAIN (Resource temporarily unavailable)
7 pread64(9,  <unfinished ...>
8 <... futex resumed>)              = 0
7 <... pread64 resumed>"{\"format\":1, \"a\":(2) = 3,"..., 8192, 0) = 8192
7 pwrite64(9, "{\"format\":1,\"seq\":25"..., 4096, 4096) = 4096
7 readlinkat(AT_FDCWD, "/proc/self/fd/7", "/d", 128) = 2
7 write(6, "\1\0\0\0\0\0\0\0", 8) = 8
7 clock_gettime(CLOCK_BOOTTIME, {tv_sec=1, tv_nsec=2}) = 0
7 openat(AT_FDCWD, "/d", O_RDONLY|O_CLOEXEC) = 7
7 exit_group(0) = ?
7 +++ exited with 0 +++
`

func TestCycle(t *testing.T) {
	got, err := strace.Cycle(trace, "/d")
	want := []string{
		`openat "DIR" O_RDONLY|O_CLOEXEC`, "fstat", `fgetxattr "user.x" ENODATA`, "fcntl F_OFD_SETLK {l_type=F_WRLCK EAGAIN",
		"pread64 8192", "pwrite64 4096", "readlinkat \"/proc/self/fd/", "clock_gettime CLOCK_BOOTTIME",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
}

func TestCycleIsMostFrequent(t *testing.T) {
	const open, odd, even = "7 openat(AT_FDCWD, \"/d\", O_RDONLY) = 7\n", "7 sync() = 0\n", "7 fstat(7, 0xff) = 0\n"
	got, err := strace.Cycle(open+odd+open+even+open+even+open+odd+even+open, "/d")
	if want := []string{`openat "DIR" O_RDONLY`, "fstat"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
}

func TestCycleNeedsTwo(t *testing.T) {
	if _, err := strace.Cycle(`7 openat(AT_FDCWD, "/d", O_RDONLY) = 7`, "/d"); err == nil {
		t.Error("one opening is no cycle")
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		want, got []string
		diff      string
	}{
		{nil, nil, ""},
		{[]string{"a", "b"}, []string{"a", "b"}, ""},
		{[]string{"a", "b", "c"}, []string{"a", "c"}, "- b\n"},
		{[]string{"a", "c"}, []string{"a", "b", "c", "d"}, "+ b\n+ d\n"},
		{[]string{"a", "b"}, []string{"b", "a"}, "- a\n+ a\n"},
	} {
		if got := strace.Diff(c.want, c.got); got != c.diff {
			t.Errorf("%v against %v: %q, want %q", c.want, c.got, got, c.diff)
		}
	}
}
