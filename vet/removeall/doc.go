// Package removeall reports os.RemoveAll of a directory beside a deferred os.Remove of a file in it.
//
// The deferred call runs last. By then the directory may be there again, made by the next owner, and the call removes
// the successor's file: its lock, its pid, its socket.
//
// WRONG
//
//	defer os.Remove(filepath.Join(dir, "app.pid"))
//	...
//	os.RemoveAll(dir)
//
// RIGHT
//
//	...
//	os.RemoveAll(dir) // once, by whoever owns the directory
//
// Not reported: a directory from os.MkdirTemp, where nobody else works, and the order in which the file goes first.
package removeall
