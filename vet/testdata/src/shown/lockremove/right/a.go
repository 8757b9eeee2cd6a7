package right

import "github.com/gofrs/flock"

func f(path string) {
	fl := flock.New(path)
	fl.Lock()
	defer fl.Unlock()
}
