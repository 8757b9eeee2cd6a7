package main

import "syscall"

func apart() *syscall.SysProcAttr {
	const detached = 0x00000008 // DETACHED_PROCESS
	return &syscall.SysProcAttr{CreationFlags: detached | syscall.CREATE_NEW_PROCESS_GROUP}
}
