//go:build !solehold_portable

package supervise

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/procfs"
)

// identity tells whether an answer came from the service: the socket that
// listens on the port must be open in one of its processes. Another program on
// the port would keep a dead service alive, or kill a healthy one.
type identity struct {
	proc    procfs.FS
	belongs func(pid int) bool // to the service
	members func() []int       // processes of the service; none where they cannot be told now

	mu     sync.Mutex
	proven []uint32 // sockets that were seen in the service
	owner  int      // a process that had them
}

// check makes a verdict about a stranger's answer unknown. One that cannot be
// checked, of another machine or where the kernel does not tell, stands.
func (i *identity) check(r health.Result) health.Result {
	if r.Verdict == health.Unknown {
		return r
	}
	stranger := ""
	switch {
	case r.Peer.Remote.IsValid():
		stranger = i.tcp(r.Peer)
	case r.Peer.PID > 0 && !i.belongs(r.Peer.PID) && i.foreign(i.unix(r.Peer.Path)):
		stranger = fmt.Sprintf("pid %d (%s), which does not belong to the service, answered at %s", r.Peer.PID, i.name(r.Peer.PID), r.Peer.Path)
	}
	if stranger == "" {
		return r
	}
	r.Verdict, r.Detail = health.Unknown, health.Line(stranger+": "+r.Detail)
	return r
}

// tcp names the stranger who answered, or is empty.
func (i *identity) tcp(p health.Peer) string {
	if !local(p) {
		return ""
	}
	sockets, err := listeners(p.Remote)
	if err != nil {
		return ""
	}
	if len(sockets) == 0 {
		return fmt.Sprintf("no socket of this machine listens at %s as far as can be seen from here, so somebody else answered", p.Remote)
	}
	if !i.foreign(sockets) {
		return ""
	}
	return fmt.Sprintf("%s, which does not belong to the service, listens at %s", i.holder(sockets), p.Remote)
}

// local reports whether the other end is on this machine.
func local(p health.Peer) bool {
	addr := p.Remote.Addr().Unmap()
	return addr.IsLoopback() || addr == p.Local.Addr().Unmap() || own(addr)
}

// own reports whether this machine has the address.
func own(addr netip.Addr) bool {
	addrs, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr() == addr
	})
}

// foreign reports whether one of the sockets is not open in the service. What was
// seen once need not be looked for as long as its owner lives.
func (i *identity) foreign(sockets []uint32) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(sockets) > 0 && slices.Equal(sockets, i.proven) && i.opens(i.owner, sockets[:1]) && i.belongs(i.owner) {
		return false
	}
	members := i.members()
	missing := slices.Clone(sockets)
	for _, pid := range members {
		before := len(missing)
		missing = slices.DeleteFunc(missing, func(s uint32) bool { return i.opens(pid, []uint32{s}) })
		if len(missing) < before {
			i.owner = pid
		}
		if len(missing) == 0 && before > 0 {
			i.proven = sockets
			return false
		}
	}
	return len(members) > 0
}

// opens reports whether a process has one of the sockets open.
func (i *identity) opens(pid int, sockets []uint32) bool {
	fds, err := i.proc.FDs(pid)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(fds, func(fd int) bool {
		target, err := i.proc.FDTarget(pid, fd)
		return err == nil && strings.HasPrefix(target, "socket:[") &&
			slices.ContainsFunc(sockets, func(s uint32) bool { return target == fmt.Sprintf("socket:[%d]", s) })
	})
}

// holder names a process that has one of the sockets.
func (i *identity) holder(sockets []uint32) string {
	pids, _ := i.proc.Pids()
	for _, pid := range pids {
		if i.opens(pid, sockets) {
			return fmt.Sprintf("pid %d (%s)", pid, i.name(pid))
		}
	}
	return "a process that cannot be seen from here"
}

func (i *identity) name(pid int) string {
	if st, err := i.proc.Stat(pid); err == nil {
		return st.Comm
	}
	return "gone"
}

// unix lists the sockets that accept connections at a path.
func (i *identity) unix(path string) []uint32 {
	text, err := i.proc.System("net/unix")
	if err != nil || path == "" {
		return nil
	}
	const accepts = "00010000" // __SO_ACCEPTCON
	var found []uint32
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		var inode uint32
		if len(f) == 8 && f[7] == path && f[3] == accepts {
			if _, err := fmt.Sscan(f[6], &inode); err == nil {
				found = append(found, inode)
			}
		}
	}
	return found
}
