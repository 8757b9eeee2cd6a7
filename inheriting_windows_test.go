package solehold_test

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// inheriting has a process inherit handles.
func inheriting(handles ...uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		for _, h := range handles {
			if windows.SetHandleInformation(windows.Handle(h), windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT) == nil {
				cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, syscall.Handle(h))
			}
		}
	}
}
