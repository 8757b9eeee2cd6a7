// Package lockage reports a lock that is judged by the age of its file.
//
// Age proves nothing: a healthy owner need not touch its file, a paused one cannot, and clocks jump. Removing an "old"
// lock makes a second owner.
//
// WRONG
//
//	fi, err := os.Stat(lockPath)
//	if time.Since(fi.ModTime()) > 5*time.Minute {
//		os.Remove(lockPath)
//	}
//
// RIGHT
//
//	ok, err := fl.TryLock() // the kernel knows whether the owner lives
//
// Only files that are locks by a lock call of the package or by their name (".lock", ".pid", lockPath) are reported.
package lockage
