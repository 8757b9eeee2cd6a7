package evidence

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// socket is a row of the kernel's tables of network sockets.
type socket struct {
	table, local, remote, state, queues, inode string
}

// sockets lists the sockets of the service: what it listens on, how full the
// queue of those waiting to be accepted is, and its connections with the process
// at the other end, where that is on this host.
func (s *scene) sockets() (string, error) {
	owners := sync.OnceValue(s.socketOwners) // a look at every process, only where it is needed
	return s.each(func(b *strings.Builder, pid int) error {
		mine, err := s.socketInodes(pid)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "pid %d: %d sockets\n", pid, len(mine))
		if len(mine) == 0 {
			return nil
		}
		rows := s.socketRows(pid)
		ends := map[string]socket{}
		for _, r := range rows {
			ends[r.local+" "+r.remote] = r
		}
		for _, r := range rows {
			if !mine[r.inode] {
				continue
			}
			fmt.Fprintf(b, "  %-4s %s -> %s  %s  queues (send:receive) %s", r.table, r.local, r.remote, r.state, r.queues)
			if peer, ok := ends[r.remote+" "+r.local]; ok {
				fmt.Fprintf(b, "  %s", s.peer(owners()[peer.inode], peer))
			}
			b.WriteByte('\n')
		}
		s.unixSockets(b, pid, mine)
		return nil
	})
}

// peer names who has the other end, and what that does.
func (s *scene) peer(pids []int, end socket) string {
	if len(pids) == 0 {
		return "the other end: " + end.state + ", of no visible process, queues " + end.queues
	}
	return fmt.Sprintf("the other end: pid %d (%s), which %s, queues %s", pids[0], short(s.command(pids[0])), s.doing(pids[0], nil), end.queues)
}

func (s *scene) socketRows(pid int) []socket {
	var rows []socket
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		text, err := s.proc.Text(pid, "net/"+table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) >= 10 && f[0] != "sl" {
				rows = append(rows, socket{table, address(f[1]), address(f[2]), tcpState(f[3]), f[4], f[9]})
			}
		}
	}
	return rows
}

// unixSockets lists those that have a name; who is at their other end the
// kernel's table does not tell.
func (s *scene) unixSockets(b *strings.Builder, pid int, mine map[string]bool) {
	text, _ := s.proc.Text(pid, "net/unix")
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 8 && mine[f[6]] {
			fmt.Fprintf(b, "  unix %s\n", printable(strings.Join(f[7:], " ")))
		}
	}
}

// socketOwners finds the processes of every socket.
func (s *scene) socketOwners() map[string][]int {
	owners := map[string][]int{}
	s.proc.EachFD(nil, func(pid, fd int) {
		target, err := s.proc.FDTarget(pid, fd)
		inode, ok := strings.CutPrefix(target, "socket:[")
		if inode = strings.TrimSuffix(inode, "]"); err == nil && ok && !slices.Contains(owners[inode], pid) {
			owners[inode] = append(owners[inode], pid)
		}
	})
	return owners
}

func (s *scene) socketInodes(pid int) (map[string]bool, error) {
	fds, err := s.proc.FDs(pid)
	if err != nil {
		return nil, err
	}
	inodes := map[string]bool{}
	for _, fd := range fds {
		target, err := s.proc.FDTarget(pid, fd)
		if inode, ok := strings.CutPrefix(target, "socket:["); err == nil && ok {
			inodes[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return inodes, nil
}

// address reads the kernel's hexadecimal form: words of the host's byte order
// (little-endian on all systems this runs on), a colon, the port.
func address(text string) string {
	host, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || portErr != nil || len(raw)%4 != 0 {
		return text
	}
	for i := 0; i+3 < len(raw); i += 4 {
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return text
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)).String()
}

func tcpState(code string) string {
	names := []string{"", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING"}
	n, err := strconv.ParseUint(code, 16, 8)
	if err != nil || int(n) >= len(names) || n == 0 {
		return "state " + code
	}
	return names[n]
}
