package evidence

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// toldElsewhere says that there is no /proc.
const toldElsewhere = true

// describe tells in one line what Windows says of a process that lives.
func describe(pid int) (string, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return "", err
	}
	defer windows.CloseHandle(h)
	if event, err := windows.WaitForSingleObject(h, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return "", windows.ERROR_PROCESS_ABORTED
	}
	var path [windows.MAX_LONG_PATH]uint16
	n := uint32(len(path))
	if err := windows.QueryFullProcessImageName(h, 0, &path[0], &n); err != nil {
		return "", err
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", err
	}
	spent := func(t windows.Filetime) time.Duration { // in units of 100 ns
		return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
	}
	return fmt.Sprintf("%s, started %s, processor time %s of its own and %s in the system, %d threads", windows.UTF16ToString(path[:n]),
		time.Unix(0, created.Nanoseconds()).UTC().Format("2006-01-02 15:04:05Z"), spent(user), spent(kernel), threadsOf(uint32(pid))), nil
}

func threadsOf(pid uint32) (n int) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return 0
	}
	defer windows.CloseHandle(snapshot)
	e := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &e); err == nil; err = windows.Thread32Next(snapshot, &e) {
		if e.OwnerProcessID == pid {
			n++
		}
	}
	return n
}

// onProcessor is for systems with /proc.
func onProcessor(int, func()) {}
