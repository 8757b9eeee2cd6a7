package evidence

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// sockets lists the network sockets of the service: what it listens on, how
// full the queue of those waiting to be accepted is, and its connections.
func (s *scene) sockets() (string, error) {
	return s.each(func(b *strings.Builder, pid int) error {
		mine, err := s.socketInodes(pid)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "pid %d: %d sockets\n", pid, len(mine))
		for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
			text, err := s.proc.Text(pid, "net/"+table)
			if err != nil {
				continue
			}
			for line := range strings.Lines(text) {
				if row, inode := socketRow(line); mine[inode] {
					fmt.Fprintf(b, "  %-4s %s\n", table, row)
				}
			}
		}
		return nil
	})
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

// socketRow reads a line of /proc/net/tcp: addresses, state, queues, inode.
func socketRow(line string) (row, inode string) {
	f := strings.Fields(line)
	if len(f) < 10 {
		return "", ""
	}
	return fmt.Sprintf("%s -> %s  %s  queues (send:receive) %s", address(f[1]), address(f[2]), tcpState(f[3]), f[4]), f[9]
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
