package supervise

import (
	"errors"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"github.com/solehold/solehold/internal/procid"
	"golang.org/x/sys/windows"
)

// sendCall is the call by which a process is ended.
const sendCall = "TerminateProcess"

// grip is a process held by its handle: while that is open its number means no
// other one.
type grip struct{ h windows.Handle }

// grasp takes hold of a process that was just seen with this start.
func grasp(b birth) (*grip, error) {
	h, err := windows.OpenProcess(windows.PROCESS_TERMINATE|windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(b.pid))
	if err != nil {
		return nil, err
	}
	g := &grip{h}
	// One that has ended stays for as long as somebody holds it.
	if now, err := birthOf(b.pid); err != nil || now != b || g.Ended() {
		g.Close()
		return nil, procid.ErrNotThisProcess
	}
	return g, nil
}

// Signal ends it for SIGKILL. A process of another console cannot be asked.
func (g *grip) Signal(s syscall.Signal) error {
	switch {
	case g.Ended():
		return syscall.ESRCH
	case s != syscall.SIGKILL:
		return errors.ErrUnsupported
	}
	return windows.TerminateProcess(g.h, killedCode)
}

// Ended reports whether it has ended.
func (g *grip) Ended() bool {
	event, err := windows.WaitForSingleObject(g.h, 0)
	return err == nil && event == windows.WAIT_OBJECT_0
}

// Close lets go of it.
func (g *grip) Close() error { return windows.CloseHandle(g.h) }

// await waits for the end of a process, for a while.
func await(g *grip, most time.Duration) {
	windows.WaitForSingleObject(g.h, uint32(most.Milliseconds())+1)
}

// ask would ask all of them to end.
func (t *target) ask(sig syscall.Signal) (heard int, err error) { return t.signal(sig) }

// parents lists who was started by whom.
func parents() map[int]int {
	all := map[int]int{}
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return all
	}
	defer windows.CloseHandle(snapshot)
	e := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &e); err == nil; err = windows.Process32Next(snapshot, &e) {
		all[int(e.ProcessID)] = int(e.ParentProcessID)
	}
	return all
}

// birthsBelow lists the living descendants of a process. A number is used again:
// a child is younger than its parent.
func birthsBelow(pid int) (all []birth) {
	above := parents()
	queue := []int{pid}
	for len(queue) > 0 {
		parent, err := birthOf(queue[0])
		queue = queue[1:]
		if err != nil {
			continue
		}
		for child, p := range above {
			b, err := birthOf(child)
			if p != parent.pid || child == parent.pid || err != nil || b.start < parent.start || slices.Contains(all, b) {
				continue
			}
			all = append(all, b)
			queue = append(queue, child)
		}
	}
	return all
}

// ancestors lists the processes above one; pid 0 is this one.
func ancestors(pid int) (pids []int) {
	if pid == 0 {
		pid = int(windows.GetCurrentProcessId())
	}
	above := parents()
	young, err := birthOf(pid)
	for err == nil {
		var old birth
		if old, err = birthOf(above[young.pid]); err != nil || old.start > young.start || slices.Contains(pids, old.pid) {
			return pids
		}
		pids = append(pids, old.pid)
		young = old
	}
	return pids
}

// freeze takes in what they have started; nobody can be stopped here.
func (t *target) freeze() { t.addBelow() }
