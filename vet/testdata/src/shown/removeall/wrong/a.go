package wrong

import (
	"os"
	"path/filepath"
)

func f(dir string, serve func()) {
	defer os.Remove(filepath.Join(dir, "app.pid")) // want `runs after os.RemoveAll`
	serve()
	os.RemoveAll(dir)
}
