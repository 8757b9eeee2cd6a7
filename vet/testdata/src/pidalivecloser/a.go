// Package pidalivecloser looks at the program as well, and is not reported.
package pidalivecloser

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

func owner(path string) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(string(b))
	if err != nil || syscall.Kill(pid, 0) != nil {
		return false
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && exe == "/usr/bin/kb"
}
