//go:build !linux

package solehold_test

import (
	"os"
	"testing"
	"time"
)

// Wine on a busy machine takes seconds for what Windows does at once.
const (
	patience   = time.Minute
	answerTime = time.Minute
)

// tempDir is a directory of the test. What removes t.TempDir uses a call that Wine
// does not have; the disk goes away as a whole.
func tempDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "test")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func systemParts() map[string]func() { return nil }

func thisBinary() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

func (a *agent) killTraced() {}
