package main

import (
	"os"
	"testing"

	"github.com/gofrs/flock"
)

func TestBreaks(t *testing.T) {
	fl := flock.New("/tmp/in-a-test.lock")
	defer os.Remove("/tmp/in-a-test.lock")
	fl.Lock()
}
