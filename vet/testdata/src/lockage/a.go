package lockage

import (
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

func old(lockPath string) error {
	fi, err := os.Stat(lockPath)
	if err != nil {
		return err
	}
	if time.Since(fi.ModTime()) > 5*time.Minute { // want `a lock is judged by the age of lockPath`
		return os.Remove(lockPath)
	}
	return nil
}

func byEnd(dir string) bool {
	fi, err := os.Lstat(filepath.Join(dir, "app.lock"))
	return err == nil && fi.ModTime().Before(time.Now().Add(-time.Hour)) // want `judged by the age`
}

func byUse(dir string, now time.Time) (bool, error) {
	name := filepath.Join(dir, "guard")
	fl := flock.New(name)
	if err := fl.Lock(); err != nil {
		return false, err
	}
	defer fl.Unlock()
	fi, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	t := fi.ModTime()
	return now.Sub(t) > time.Hour, nil // want `judged by the age`
}

// Right: other files.

func cache(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && time.Since(fi.ModTime()) > time.Hour
}

func block(blockPath, clockFile string) bool {
	a, err := os.Stat(blockPath)
	if err != nil {
		return false
	}
	b, err := os.Stat(clockFile)
	return err == nil && a.ModTime().Before(b.ModTime())
}

func shown(lockPath string) string {
	fi, err := os.Stat(lockPath)
	if err != nil {
		return ""
	}
	return fi.ModTime().String()
}
