// Package recordwrite reports an unchecked write, or an unchecked close after a write, of a pid file or of a record in a
// locked file.
//
// On a full disk the file stays empty. The next reader sees an empty or torn record and does what it does then: refuses
// for ever, or takes over.
//
// WRONG
//
//	os.WriteFile("/run/kb/kb.pid", pid, 0o644)
//	fmt.Fprintln(lockedFile, os.Getpid())
//
// RIGHT
//
//	if err := os.WriteFile("/run/kb/kb.pid", pid, 0o644); err != nil {
//		return err
//	}
//	if _, err := fmt.Fprintln(lockedFile, os.Getpid()); err != nil {
//		return err
//	}
//
// What counts as a pid file is told by its name: one that ends in .pid, or a variable such as pidFile.
package recordwrite
