package wrong

import (
	"os"
	"time"
)

func f(lockPath string) error {
	fi, err := os.Stat(lockPath)
	if err != nil {
		return err
	}
	if time.Since(fi.ModTime()) > 5*time.Minute { // want `age`
		os.Remove(lockPath)
	}
	return nil
}
