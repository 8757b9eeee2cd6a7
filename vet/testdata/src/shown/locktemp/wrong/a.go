package wrong

import (
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

func slashTmp() error {
	fl := flock.New("/tmp/kb.lock") // want `this lock file is in /tmp`
	return fl.Lock()
}

func tempDir() error {
	fl := flock.New(filepath.Join(os.TempDir(), "kb.lock")) // want `this lock file is in os.TempDir`
	return fl.Lock()
}

func relative() error {
	fl := flock.New("kb.lock") // want `relative`
	return fl.Lock()
}
