//go:build !unix

package health

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(*exec.Cmd) {}

func killGroup(p *os.Process) { p.Kill() }

func killedBy(*os.ProcessState) syscall.Signal { return 0 }
