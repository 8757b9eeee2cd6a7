// Package lockexec reports a program that is started under a lock without a plan for its process tree.
//
// When the owner dies, the kernel frees its lock, and the child goes on writing beside the next owner. Its children are
// not even known. The plan is one of: the child gets the locked descriptor (ExtraFiles), so that it holds too; it gets
// a signal when its parent dies or its own group to be killed (SysProcAttr); it is stopped by Cancel.
//
// WRONG
//
//	if err := fl.Lock(); err != nil {
//		return err
//	}
//	defer fl.Unlock()
//	cmd := exec.Command("backup")
//	err := cmd.Run()
//
// RIGHT
//
//	cmd := exec.Command("backup")
//	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
//	err := cmd.Run()
//
// `solehold run DIR -- backup` has the plan built in. Only commands that are made and started in the function that
// holds the lock are seen.
package lockexec
