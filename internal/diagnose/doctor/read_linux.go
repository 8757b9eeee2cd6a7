package doctor

import (
	"os"

	"golang.org/x/sys/unix"
)

// openToRead follows no link in the file's place, and waits for nobody.
func openToRead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// openFolder opens a directory and nothing else.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
}
