package drill

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// host is a cradle as the drill sees it.
type host struct {
	pid    int // here
	place  place
	thread int // that stands in the place
	device uint64
	cmd    *exec.Cmd
	tell   *json.Encoder
	line   *os.File
	gone   chan struct{} // closed when the cradle has ended
	start  *start        // what lives there now, nil for nothing
	empty  bool          // nothing of a start is left
	cut    bool          // the drill has ended the cradle itself
}

// post is news with its sender.
type post struct {
	from *host
	news
	lost bool // the cradle has gone
}

// newHost starts a cradle and waits until it stands in its place.
func (s *stage) newHost(p place) (*host, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(s.Self[0], append(s.Self[1:len(s.Self):len(s.Self)], CradleVerb, string(text))...)
	cmd.ExtraFiles = []*os.File{theirs, s.gate}
	cmd.Stderr = &s.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: p.births()}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start %s: %w", s.Self[0], err)
	}
	h := &host{pid: cmd.Process.Pid, place: p, cmd: cmd, tell: json.NewEncoder(ours), line: ours, gone: make(chan struct{}), empty: true}
	in := json.NewDecoder(ours)
	var first news
	if err := in.Decode(&first); err != nil || first.What != "ready" {
		ours.Close()
		cmd.Process.Kill()
		cmd.Wait()
		return nil, errors.Join(err, errors.New(first.Error))
	}
	h.thread, h.device = first.PID, first.Device
	go h.listen(in, s.inbox)
	s.hosts = append(s.hosts, h)
	return h, nil
}

// listen passes on what the cradle tells.
func (h *host) listen(in *json.Decoder, to chan<- post) {
	defer close(h.gone)
	for {
		var n news
		if in.Decode(&n) != nil {
			h.cmd.Wait()
			to <- post{from: h, lost: true}
			return
		}
		to <- post{from: h, news: n}
	}
}

// socketPair gives two ends of a line; a process of ours that is born meanwhile gets neither.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	unix.SetNonblock(fds[0], true) // so that closing our end ends a read of it
	return os.NewFile(uintptr(fds[0]), "cradle"), os.NewFile(uintptr(fds[1]), "drill"), nil
}

// newGate gives what holds the starters back: each takes one from it, and the drill puts in as many as are to go.
func newGate() (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_SEMAPHORE)
	return os.NewFile(uintptr(fd), "gate"), os.NewSyscallError("eventfd", err)
}
