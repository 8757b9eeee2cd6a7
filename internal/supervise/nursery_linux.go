//go:build !solehold_portable

package supervise

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/procfs"
	"golang.org/x/sys/unix"
)

// drainTime is how long the last output of a probe's command is waited for,
// where a process outside its group holds the pipe.
const drainTime = 150 * time.Millisecond

// nursery holds the commands of probes while they run. They are children of this
// process beside the service: its one reaper tells them here when they end.
type nursery struct {
	proc  procfs.FS
	blind bool // proc is that of another pid namespace

	mu       sync.Mutex
	children map[int]chan syscall.WaitStatus
	count    int
	running  []string // the marks of runs that are not over
}

// has reports whether pid is a probe's command.
func (n *nursery) has(pid int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.children[pid]
	return ok
}

// ending is called before a process is reaped. Until then its number is that of
// its group: what is left of a probe's command ends with it.
func (n *nursery) ending(pid int) { n.kill(pid) }

// ended is called with what was reaped; it reports whether that was a probe's.
func (n *nursery) ended(pid int, status syscall.WaitStatus) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, ok := n.children[pid]
	if ok {
		delete(n.children, pid)
		c <- status // it has room
	}
	return ok
}

// kill ends the group of a probe's command, as long as it was not reaped.
func (n *nursery) kill(pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.children[pid]; ok {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// Run implements health.Runner.
func (n *nursery) Run(ctx context.Context, argv, env []string) (health.Exit, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return health.Exit{}, err
	}
	defer null.Close()
	return n.run(ctx, argv, env, null)
}

// run is Run with an input.
func (n *nursery) run(ctx context.Context, argv, env []string, input *os.File) (health.Exit, error) {
	if err := ctx.Err(); err != nil {
		return health.Exit{}, err
	}
	runtime.LockOSThread() // the death of this thread would be told to the command as ours
	defer runtime.UnlockOSThread()
	out, in, err := pipe()
	if err != nil {
		return health.Exit{}, err
	}
	kept := make(chan []byte, 1)
	go func() { kept <- head(out) }()
	mark := n.begin()
	pid, ended, err := n.fork(argv, append([]string{mark}, env...), input, in)
	in.Close()
	if err != nil {
		n.strays(mark)
		out.Close()
		return health.Exit{}, err
	}
	stop := context.AfterFunc(ctx, func() { n.kill(pid) })
	defer stop()
	status := <-ended
	n.strays(mark)
	out.SetReadDeadline(time.Now().Add(drainTime))
	exit := health.Exit{Output: <-kept}
	out.Close()
	if status.Signaled() {
		exit.Signal = status.Signal()
	} else {
		exit.Code = status.ExitStatus()
	}
	return exit, nil
}

// fork starts a command and enters it before the reaper can meet its end.
func (n *nursery) fork(argv, env []string, in, out *os.File) (pid int, ended chan syscall.WaitStatus, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: env, Files: []uintptr{in.Fd(), out.Fd(), out.Fd()},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, nil, err
	}
	ended = make(chan syscall.WaitStatus, 1)
	if n.children == nil {
		n.children = map[int]chan syscall.WaitStatus{}
	}
	n.children[pid] = ended
	return pid, ended, nil
}

// head reads to the end, and keeps the start.
func head(from *os.File) []byte {
	var kept bytes.Buffer
	buf := make([]byte, health.OutputLimit)
	for {
		n, err := from.Read(buf)
		kept.Write(buf[:min(n, health.OutputLimit-kept.Len())])
		if err != nil {
			return kept.Bytes()
		}
	}
}

// pipe returns a pipe whose reading end can be given a deadline, and whose
// writing end blocks, as a command expects it.
func pipe() (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	unix.SetNonblock(fds[0], true)
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}

// nextChanged gives a child that has ended, stopped or continued, and leaves it
// to be collected; 0 where there is none.
func nextChanged() (pid int, ended bool) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WSTOPPED|unix.WCONTINUED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, false
		}
		break
	}
	const exited, dumped = 1, 3 // CLD_EXITED, CLD_KILLED, CLD_DUMPED of sigaction(2)
	return childOf(&info), info.Code >= exited && info.Code <= dumped
}

// childOf reads si_pid: the first field of a union, which lies where a pointer
// may begin.
func childOf(info *unix.Siginfo) int {
	const head = 3 * unsafe.Sizeof(int32(0)) // si_signo, si_errno, si_code
	const word = unsafe.Sizeof(uintptr(0))
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), (head+word-1)/word*word)))
}
