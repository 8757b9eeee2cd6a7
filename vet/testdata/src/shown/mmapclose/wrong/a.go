package wrong

import (
	"os"
	"syscall"
)

func f(path string, size int, use func([]byte)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED) // want `mapp`
	if err != nil {
		return err
	}
	use(data)
	return nil
}
