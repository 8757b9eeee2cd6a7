package mmapclose

import (
	"os"

	"golang.org/x/sys/unix"
)

func never(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, 10, unix.PROT_READ, unix.MAP_SHARED) // want `this mapping is never unmapped`
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

func open(path string) (byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, 10, unix.PROT_READ, unix.MAP_SHARED) // want `the descriptor behind this mapping \(f\) is never closed`
	if err != nil {
		return 0, err
	}
	defer unix.Munmap(data)
	return data[0], nil
}

// Right.

func both(path string) (byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, 10, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, err
	}
	defer unix.Munmap(data)
	return data[0], nil
}

func handedOn(f *os.File) (string, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, 10, unix.PROT_READ, unix.MAP_SHARED)
	return string(data), err
}

func anonymous() ([]byte, error) {
	return unix.Mmap(-1, 0, 10, unix.PROT_READ, unix.MAP_ANON)
}

type view struct {
	file *os.File
	data []byte
}

func (v *view) stored() (err error) {
	v.data, err = unix.Mmap(int(v.file.Fd()), 0, 10, unix.PROT_READ, unix.MAP_SHARED)
	return err
}

func (v *view) close() error {
	if err := unix.Munmap(v.data); err != nil {
		return err
	}
	return v.file.Close()
}
