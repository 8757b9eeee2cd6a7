// Package mmapclose reports a mapped file that is never unmapped, or whose descriptor is never closed.
//
// A mapping and a descriptor each hold the file. When it is removed, its space is freed only after the last of both is
// gone: the disk is full, and no file shows why.
//
// WRONG
//
//	f, err := os.Open(path)
//	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
//	use(data)
//
// RIGHT
//
//	f, err := os.Open(path)
//	defer f.Close()
//	data, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
//	defer syscall.Munmap(data)
//
// Anonymous mappings are not reported. A package that unmaps somewhere is believed to do so for every mapping that
// leaves its function; a file that leaves its function is believed to be closed.
package mmapclose
