package supervise

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// child is the command's first process. Its handle keeps its number from being
// given to another one.
type child struct {
	pid     int
	process windows.Handle
}

// take puts a process that does not run yet into the job, gives it what keeps the
// directory, and lets it run. What keeps the directory is not handed down: those
// below end with the job.
func (t *tree) take(p windows.Handle, keep []uintptr, c *child) error {
	self := windows.CurrentProcess()
	if err := windows.AssignProcessToJobObject(t.job, p); err != nil {
		return err
	}
	for _, h := range keep {
		var theirs windows.Handle
		if err := windows.DuplicateHandle(self, windows.Handle(h), p, &theirs, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
			return err
		}
	}
	if err := windows.DuplicateHandle(self, p, self, &c.process, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return err
	}
	return resume(p)
}

// resume lets a suspended process run. The documented way needs its thread's
// handle, which Go does not hand out.
func resume(p windows.Handle) error {
	status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess").Call(uintptr(p))
	if status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

// tell wakes the loop when the process has ended, and again when the job is empty:
// a job's own messages may be lost.
func (c *child) tell(job windows.Handle, wake chan<- struct{}, done <-chan struct{}) {
	const look = 50 * time.Millisecond
	windows.WaitForSingleObject(c.process, windows.INFINITE)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case wake <- struct{}{}:
		default:
		}
		if n, err := active(job); err != nil || n == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}

func (c *child) close() { windows.CloseHandle(c.process) }

// hasConsole reports whether this process has a console, seen or not.
func hasConsole() bool {
	page, _, _ := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetConsoleCP").Call()
	return page != 0
}

func allocConsole() error {
	ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("AllocConsole").Call()
	if ok != 0 {
		return nil
	}
	return errors.Join(err)
}

// signal has nothing to send: signals are for other systems.
func (c *child) signal(syscall.Signal) {}
