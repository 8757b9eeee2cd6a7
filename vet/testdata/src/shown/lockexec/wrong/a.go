package wrong

import (
	"os/exec"

	"github.com/gofrs/flock"
)

func f(fl *flock.Flock) error {
	if err := fl.Lock(); err != nil {
		return err
	}
	defer fl.Unlock()
	cmd := exec.Command("backup")
	err := cmd.Run() // want `tree|child`
	return err
}
