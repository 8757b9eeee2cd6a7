package right

import (
	"os/exec"
	"syscall"

	"github.com/gofrs/flock"
)

func f(fl *flock.Flock) error {
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	cmd := exec.Command("backup")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	err := cmd.Run()
	return err
}
