//go:build !solehold_portable

package supervise

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/solehold/solehold"
	"golang.org/x/sys/unix"
)

// AgentListener is the socket of the agent of a host. Who may connect is said by
// the mode of its file; who it is, by the kernel.
type AgentListener struct{ l *net.UnixListener }

// ListenAgent makes the socket, for its own user alone; gid, unless it is below 0,
// names a group that may connect too. A socket that nobody serves any more is
// replaced, nothing else is.
func ListenAgent(path string, gid int) (*AgentListener, error) {
	before := unix.Umask(0o177) // there is one goroutine yet
	defer unix.Umask(before)
	l, err := listenUnix(path)
	if err != nil {
		return nil, err
	}
	if gid >= 0 {
		if err := errors.Join(os.Chown(path, -1, gid), os.Chmod(path, 0o660)); err != nil {
			l.Close()
			return nil, err
		}
	}
	return &AgentListener{l}, nil
}

func listenUnix(path string) (*net.UnixListener, error) {
	addr := &net.UnixAddr{Name: path, Net: "unix"}
	l, err := net.ListenUnix("unix", addr)
	if !errors.Is(err, unix.EADDRINUSE) {
		return l, err
	}
	st, statErr := os.Lstat(path)
	if statErr != nil || st.Mode()&os.ModeSocket == 0 {
		return nil, fmt.Errorf("%s is there, and no socket: %w", path, err)
	}
	c, dialErr := net.DialUnix("unix", nil, addr)
	if dialErr == nil {
		c.Close()
		return nil, fmt.Errorf("%s: an agent listens there already: %w", path, err)
	}
	if !errors.Is(dialErr, unix.ECONNREFUSED) {
		return nil, dialErr
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.ListenUnix("unix", addr)
}

// Accept gives the next run. The error is net.ErrClosed after Close.
func (l *AgentListener) Accept() (*AgentPeer, error) {
	c, err := l.l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	p := &AgentPeer{UnixConn: c}
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { p.cred, p.unknown = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	}
	if err = errors.Join(err, p.unknown); err != nil {
		c.Close()
		return nil, err
	}
	return p, nil
}

// Close ends listening and removes the socket.
func (l *AgentListener) Close() error { return l.l.Close() }

// AgentPeer is a run at the socket of the agent of a host, as the kernel shows it.
type AgentPeer struct {
	*net.UnixConn
	cred    *unix.Ucred
	unknown error
	heard   bool // it has said something

	mu     sync.Mutex
	own    *os.File // a descriptor of its process, which came with its first words
	closed bool
}

// UID is the user of the run.
func (p *AgentPeer) UID() uint32 { return p.cred.Uid }

// Read reads what the run says; a descriptor may come with its first words alone.
func (p *AgentPeer) Read(b []byte) (int, error) {
	if p.heard {
		return p.UnixConn.Read(b)
	}
	p.heard = true
	rights := make([]byte, unix.CmsgSpace(4)) // for one; the kernel closes others
	n, size, _, _, err := p.ReadMsgUnix(b, rights)
	if all, parseErr := unix.ParseSocketControlMessage(rights[:size]); parseErr == nil && len(all) == 1 {
		if fds, rightsErr := unix.ParseUnixRights(&all[0]); rightsErr == nil && len(fds) == 1 {
			p.take(os.NewFile(uintptr(fds[0]), "run"))
		}
	}
	return n, err
}

// take keeps a descriptor in place of the one before.
func (p *AgentPeer) take(own *os.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own != nil {
		p.own.Close()
	}
	if p.own = own; p.closed && own != nil {
		own.Close()
	}
}

// Close ends the connection.
func (p *AgentPeer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.own != nil {
		p.own.Close()
	}
	return p.UnixConn.Close()
}

// NewGuard guards the run, which must hold dir. No word of it is believed: its
// process is the one that has connected, its user that of the process, and the
// directory the one whose lock that is seen to have. What it starts is stopped
// only as far as its user might do that.
func (p *AgentPeer) NewGuard(dir, state string) (*Guard, error) {
	pid := int(p.cred.Pid)
	g, err := newGuard(pid, dir, state)
	if err != nil {
		return nil, err
	}
	err = p.prove(g, pid)
	p.take(nil) // it has served
	if err != nil {
		g.Close()
		return nil, err
	}
	if p.cred.Uid != 0 {
		g.peer = &p.cred.Uid
		spare := func(pid int) bool {
			st, err := g.proc.Status(pid)
			return err != nil || st.UID != p.cred.Uid
		}
		g.tree.spare, g.left.spare = spare, spare
	}
	g.begin()
	return g, nil
}

func (p *AgentPeer) prove(g *Guard, pid int) error {
	if err := p.isProcess(pid); err != nil {
		return err
	}
	st, err := g.proc.Status(pid)
	if err != nil || st.UID != p.cred.Uid || st.EUID != p.cred.Uid {
		return fmt.Errorf("pid %d is not of the user %d who has connected (%v)", pid, p.cred.Uid, err)
	}
	for _, kind := range []string{"pid", "mnt"} {
		theirs, err := g.proc.Namespace(pid, kind)
		ours, ownErr := g.proc.Namespace(0, kind)
		if err = errors.Join(err, ownErr); err == nil && theirs != ours && kind == "mnt" && sameDir(pid, g) {
			continue
		}
		if err != nil || theirs != ours {
			return fmt.Errorf("pid %d is in another %s namespace than this agent, which cannot guard it there (%v): use an agent of its own", pid, kind, err)
		}
	}
	o := g.o
	o.Timeout = proofLimit
	s, err := solehold.Inspect(context.Background(), g.dir, &o)
	if err != nil || s.Owner == nil || !s.Owner.Proven || s.Owner.PID != pid {
		return fmt.Errorf("pid %d is not seen to hold %s, which is %s (%v)", pid, g.dir, s.State, errors.Join(err, s.Err))
	}
	return nil
}

// proofLimit is how long the file system may take to show who holds a directory.
const proofLimit = 30 * time.Second

// sameDir reports whether a process in other mounts means our directories by the
// same paths.
func sameDir(pid int, g *Guard) bool {
	for _, dir := range []string{g.dir, g.o.StateDir} {
		if dir == "" {
			continue
		}
		ours, err := os.Stat(dir)
		theirs, theirErr := os.Stat(fmt.Sprintf("/proc/%d/root/%s", pid, dir))
		if err != nil || theirErr != nil || !os.SameFile(ours, theirs) {
			return false
		}
	}
	return true
}

// isProcess reports whether the descriptor that came is that of the process which
// has connected, and that lives: then its number is its own.
func (p *AgentPeer) isProcess(pid int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == nil {
		return errors.New("no descriptor of the run's process came with its first words")
	}
	raw, err := p.own.SyscallConn()
	if err != nil {
		return err
	}
	var text []byte
	if ctl := raw.Control(func(fd uintptr) { text, err = os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(fd))) }); ctl != nil {
		return ctl
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pid:"); ok && strings.TrimSpace(value) == strconv.Itoa(pid) {
			return nil // -1 once it has been reaped
		}
	}
	return fmt.Errorf("the descriptor that came is not that of pid %d, which has connected (%v)", pid, err)
}
