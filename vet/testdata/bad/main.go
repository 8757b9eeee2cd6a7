// Command kb makes each mistake once.
package main

import (
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gofrs/flock"
)

func main() {
	dir := os.Args[1]
	fl := flock.New(filepath.Join(dir, "app.lock"))
	if err := fl.Lock(); err != nil {
		log.Fatal(err)
	}
	defer fl.Unlock()
	defer os.Remove(fl.Path()) // lockremove
	if err := start(fl); err != nil {
		log.Fatal(err) // lockexit
	}
}

func start(fl *flock.Flock) error {
	if err := fl.Lock(); err != nil {
		return err
	}
	return exec.Command("indexer").Run() // lockexec
}

func shared() error {
	return flock.New("/tmp/kb.lock").Lock() //solehold:allow locklost the test wants one report only; and locktemp
}

func cleanUp(dir string) error {
	defer os.Remove(filepath.Join(dir, "app.sock")) // removeall
	return os.RemoveAll(dir)
}
