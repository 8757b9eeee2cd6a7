// Package lockexit reports the end of a process, or a panic, that skips the release of a lock.
//
// os.Exit and log.Fatal run no deferred call. What the release would have done is not done: data is not flushed, the
// record still names an owner, the lock file of a library that judges by its presence stays and blocks the next start.
//
// WRONG
//
//	defer lock.Release()
//	if err := serve(); err != nil {
//		log.Fatal(err)
//	}
//
// RIGHT
//
//	func main() { os.Exit(run()) }
//
//	func run() int {
//		...
//		defer lock.Release()
//		if err := serve(); err != nil {
//			log.Print(err)
//			return 1
//		}
//		return 0
//	}
//
// Reported are: an exit after a deferred release, also in a goroutine started there, such as a signal handler that
// releases nothing (a literal, or a function that is given neither the lock nor a function); an exit while a lock of
// nightlyone/lockfile is held; a panic before a release that is not deferred. An exit while a lock is held that the
// program never releases by itself is not: the kernel frees it.
package lockexit
