package mark

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// endTime bounds End: SIGKILL takes that long only where a kernel call hangs.
const endTime = 10 * time.Second

// Find returns the processes whose mark is m. One that has ended and was not
// waited for yet is not among them: it has no environment any more.
func Find(m string) ([]int, error) {
	return find(func(mark string) bool { return mark == m })
}

// Below returns the processes whose mark is below m: m, a slash and more.
func Below(m string) ([]int, error) {
	return find(func(mark string) bool { return strings.HasPrefix(mark, m+"/") })
}

func find(fits func(string) bool) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && fits(Of(pid)) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Of returns the mark of a process, "" where it has none or is not ours to see.
func Of(pid int) string {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(Var+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// Signal sends a signal to a process if its mark is m. Between the look and the
// signal the process is held by its descriptor, so no other one gets it.
func Signal(pid int, m string, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if Of(pid) != m {
		return fmt.Errorf("process %d does not have the mark %s: %w", pid, m, unix.ESRCH)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// End kills all processes whose mark is below m and returns when none is left,
// also of those that they started meanwhile.
func End(m string) error {
	for deadline := time.Now().Add(endTime); ; time.Sleep(10 * time.Millisecond) {
		pids, err := Below(m)
		if err != nil || len(pids) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not end on SIGKILL", pids)
		}
		// Supervisors first, or they would start again what is killed.
		slices.SortStableFunc(pids, func(a, b int) int { return strings.Compare(Of(b), Of(a)) })
		for _, pid := range pids {
			if err := Signal(pid, Of(pid), unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
}
