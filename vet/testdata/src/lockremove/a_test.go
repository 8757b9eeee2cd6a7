package lockremove

import (
	"os"
	"testing"

	"github.com/gofrs/flock"
)

func TestBreaks(t *testing.T) {
	path := t.TempDir() + "/lock"
	fl := flock.New(path)
	fl.Lock()
	os.Remove(path)
}
