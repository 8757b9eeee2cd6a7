package usage

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Wakeups returns the voluntary context switches of all threads of a process.
func Wakeups(pid int) (sum int, err error) {
	return tasks(pid, "status", func(path string) (int, error) { return field(path, "voluntary_ctxt_switches") })
}

// CPU returns the nanoseconds that all threads of a process were on a CPU.
func CPU(pid int) (sum int, err error) {
	return tasks(pid, "schedstat", func(path string) (int, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		return strconv.Atoi(first)
	})
}

// Private returns the KiB of memory that a process shares with nobody.
func Private(pid int) (int, error) {
	return field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Private_Clean", "Private_Dirty")
}

// Anonymous returns the KiB of memory that no file is behind: the rest of what is
// private is code, which the kernel can drop and read again.
func Anonymous(pid int) (int, error) {
	return field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Anonymous")
}

// tasks sums up what a file of each thread says.
func tasks(pid int, file string, of func(path string) (int, error)) (sum int, err error) {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file))
	if err != nil || len(paths) == 0 {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	for _, p := range paths {
		n, err := of(p)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// field sums up the lines of a file that begin with one of the names.
func field(path string, names ...string) (sum int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), ":")
		for _, name := range names {
			if key != name {
				continue
			}
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				return 0, fmt.Errorf("%s: %w", path, err)
			}
			sum += n
		}
	}
	return sum, nil
}
