package testneed

import (
	"bytes"
	"os"
	"runtime"
	"syscall"
)

// Headless makes this process one whose first thread has exited: it shows as a zombie, and goes on with then on another
// thread. It returns where it was not called on the first thread; a copy of the process may be.
func Headless(then func()) {
	runtime.LockOSThread()
	if syscall.Gettid() != os.Getpid() {
		return
	}
	go func() {
		runtime.LockOSThread()
		for {
			stat, err := os.ReadFile("/proc/self/stat")
			if end := bytes.LastIndexByte(stat, ')'); err != nil || bytes.HasPrefix(stat[end+1:], []byte(" Z")) {
				break
			}
			runtime.Gosched()
		}
		then()
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}
