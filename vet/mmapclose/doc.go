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
// Anonymous mappings are not reported. A mapping or a file that leaves its function is the business of whoever gets it:
// programs that map their input until they end do so on purpose.
package mmapclose
