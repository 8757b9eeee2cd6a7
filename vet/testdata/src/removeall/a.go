package removeall

import (
	"os"
	"path/filepath"
)

func after(dir string) error {
	pid := filepath.Join(dir, "app.pid")
	defer os.Remove(pid) // want `this runs after os.RemoveAll \(a.go:11\) has freed the directory`
	return os.RemoveAll(dir)
}

func inLiteral(dir string) {
	defer func() {
		_ = os.Remove(dir + "/sock") // want `this runs after os.RemoveAll`
	}()
	defer os.RemoveAll(dir)
}

// Right: the file goes first; another directory; a directory of our own.

func before(dir string) {
	defer os.RemoveAll(dir)
	defer os.Remove(filepath.Join(dir, "app.pid"))
}

func oneLiteral(dir string) {
	defer func() {
		os.Remove(filepath.Join(dir, "app.pid"))
		os.RemoveAll(dir)
	}()
}

func other(dir, cache string) error {
	defer os.Remove(filepath.Join(dir, "app.pid"))
	return os.RemoveAll(cache)
}

func private() error {
	dir, err := os.MkdirTemp("", "x")
	if err != nil {
		return err
	}
	defer os.Remove(filepath.Join(dir, "app.pid"))
	return os.RemoveAll(dir)
}
