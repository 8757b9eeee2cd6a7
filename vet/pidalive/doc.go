// Package pidalive reports a pid file that is believed because a process has its number, or because the file is there.
//
// The number may belong to a stranger by now: after a crash, a reboot, in another container. A live owner of another
// user answers with EPERM. And the file outlives its owner. Where such a file decides, a service does not start for
// hours, or two run.
//
// WRONG
//
//	b, err := os.ReadFile("/run/kb/kb.pid")
//	pid, err := strconv.Atoi(string(b))
//	if syscall.Kill(pid, 0) == nil {
//		return errors.New("already running")
//	}
//
//	if _, err := os.Stat(pidFile); err == nil {
//		log.Fatal("already running")
//	}
//
// RIGHT
//
//	lock, err := solehold.Acquire(ctx, dir, nil) // the kernel knows; a pid is for the message
//
// A package that also reads the program or the start time of the process (/proc/N/exe, stat, cmdline) is not reported.
package pidalive
