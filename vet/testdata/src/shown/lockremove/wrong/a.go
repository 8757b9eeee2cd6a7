package wrong

import (
	"os"

	"github.com/gofrs/flock"
)

func f(path string) {
	fl := flock.New(path)
	fl.Lock()
	defer os.Remove(path) // want `lock file`
	defer fl.Unlock()
}
