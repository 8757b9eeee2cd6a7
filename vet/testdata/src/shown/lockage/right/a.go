package right

import "github.com/gofrs/flock"

func f(fl *flock.Flock) bool {
	ok, err := fl.TryLock()
	return ok && err == nil
}
