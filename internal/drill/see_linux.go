package drill

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/solehold/solehold/internal/procfs"
)

// stateDir is where solehold's own files lie: refused starters write there, too.
const stateDir = ".solehold"

// fact is one thing by which a process owns data.
type fact struct {
	pid    int
	ticks  uint64
	kind   factKind
	what   string // the file below the data directory, or the socket
	inode  uint64
	locked bool // this process has the file locked as a whole
}

type factKind string

const (
	writes  factKind = "open for writing"
	changed factKind = "changed"
	listens factKind = "listens"
	lives   factKind = ByLife // all that can be said of it
)

// String says it in words.
func (f fact) String() string {
	switch f.kind {
	case listens:
		return "listens on " + f.what
	case lives:
		return "lives on, and does not wait"
	}
	return "has " + f.what + " " + string(f.kind)
}

// eye looks at processes.
type eye struct {
	proc    procfs.FS
	dir     string // with a slash at its end
	ignore  []string
	sockets sockets
	locked  map[uint64]bool // files that somebody has locked as a whole at some time
}

// facts looks at one process. Where it may not be looked into, err says so; one that has ended has none.
func (e *eye) facts(st procfs.Stat) (found []fact, err error) {
	fds, err := e.proc.FDs(st.PID)
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		target, err := e.proc.FDTarget(st.PID, fd)
		if err != nil {
			continue // closed meanwhile
		}
		f := fact{pid: st.PID, ticks: st.StartTicks}
		switch name, ours := e.ours(target); {
		case ours && e.open(&f, fd):
			f.kind, f.what = writes, name
			found = append(found, f)
		case strings.HasPrefix(target, "socket:["):
			f.inode, _ = strconv.ParseUint(strings.TrimSuffix(target[len("socket:["):], "]"), 10, 64)
			if at := e.sockets.listening(e.proc, st.PID, f.inode); at != "" {
				f.kind, f.what = listens, at
				found = append(found, f)
			}
		}
	}
	return found, nil
}

// open fills in what the descriptor tells, and reports whether it is open for writing.
func (e *eye) open(f *fact, fd int) bool {
	info, err := e.proc.FDInfo(f.pid, fd)
	if err != nil || !info.Writable() {
		return false
	}
	f.inode = info.Inode
	for _, l := range info.Locks {
		if l.Write && l.Start == 0 && l.End == 1<<64-1 {
			f.locked, e.locked[f.inode] = true, true
		}
	}
	return true
}

// ours gives the name of a file below the data directory, if it is data.
func (e *eye) ours(target string) (string, bool) {
	name, below := strings.CutPrefix(strings.TrimSuffix(target, " (deleted)"), e.dir)
	if !below || strings.HasPrefix(name, fillName) {
		return "", false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == stateDir {
			return "", false
		}
	}
	for _, pattern := range e.ignore {
		if ok, _ := filepath.Match(pattern, name); ok {
			return "", false
		}
	}
	return name, true
}

// counts reports whether a fact makes an owner: a file that has a lock on the whole of it counts for who has the lock.
func (e *eye) counts(f fact) bool {
	return f.kind == listens || f.kind == lives || f.locked || !e.locked[f.inode]
}

// waits reports whether a process waits for a lock in the kernel, or watches a file that is locked by another.
func (e *eye) waits(st procfs.Stat) bool {
	where, err := e.proc.Wchan(st.PID)
	if err == nil && (strings.Contains(where, "lock_inode_wait") || strings.Contains(where, "fcntl_setlk")) {
		return true
	}
	fds, err := e.proc.FDs(st.PID)
	if err != nil {
		return false
	}
	held, watched := map[uint64]bool{}, map[uint64]bool{}
	for _, fd := range fds {
		if info, err := e.proc.FDInfo(st.PID, fd); err == nil && len(info.Locks) > 0 {
			held[info.Inode] = true
		}
		watches, _ := e.proc.Watches(st.PID, fd) // of another kind of descriptor there are none
		for _, w := range watches {
			watched[w.Ino] = true
		}
	}
	if len(watched) == 0 {
		return false
	}
	rows, _ := e.proc.Locks() // without the list nobody is taken for a waiter
	for _, l := range rows {
		if l.Write && !l.Waiting && watched[l.Inode] && !held[l.Inode] {
			return true
		}
	}
	return false
}

// busy reports whether a thread of a process runs, or wants to.
func (e *eye) busy(st procfs.Stat) bool {
	threads, err := e.proc.Threads(st.PID)
	if err != nil {
		return true // it is just ending: look again
	}
	for _, tid := range threads {
		if t, err := e.proc.ThreadStat(st.PID, tid); err == nil && (t.State == 'R' || t.State == 'D') {
			return true
		}
	}
	return false
}

// sockets remembers which sockets listen.
type sockets struct {
	known map[uint64]string
	fresh map[uint64]bool // the networks of which the lists were read in this look
	gap   error           // why the lists could not be read
}

// listening gives the address of a socket that accepts connections, else "".
func (s *sockets) listening(proc procfs.FS, pid int, inode uint64) string {
	if at := s.known[inode]; at != "" {
		return at
	}
	network, _ := proc.Namespace(pid, "net") // where it cannot be told, all are taken for one
	if s.fresh[network] {
		return ""
	}
	if s.known == nil {
		s.known = map[uint64]string{}
	}
	if s.fresh == nil {
		s.fresh = map[uint64]bool{}
	}
	s.fresh[network] = true
	for _, kind := range []string{"tcp", "tcp6", "unix"} {
		text, err := proc.Text(pid, "net/"+kind)
		if err != nil && !isGone(err) {
			s.gap = err
		}
		for line := range strings.Lines(text) {
			if n, at := listener(kind, strings.Fields(line)); at != "" {
				s.known[n] = at
			}
		}
	}
	return s.known[inode]
}

// listener reads one line of /proc/N/net/tcp, tcp6 or unix; at is "" unless it is a socket that listens.
func listener(kind string, cols []string) (inode uint64, at string) {
	const accepts = "00010000" // __SO_ACCEPTCON
	if kind == "unix" {
		if len(cols) < 7 || cols[3] != accepts {
			return 0, ""
		}
		inode, err := strconv.ParseUint(cols[6], 10, 64)
		if err != nil {
			return 0, ""
		}
		return inode, strings.Join(append([]string{"unix"}, cols[7:]...), " ")
	}
	const listen = "0A" // TCP_LISTEN
	if len(cols) < 10 || cols[3] != listen {
		return 0, ""
	}
	inode, err := strconv.ParseUint(cols[9], 10, 64)
	_, hex, _ := strings.Cut(cols[1], ":")
	port, portErr := strconv.ParseUint(hex, 16, 16)
	if err != nil || portErr != nil {
		return 0, ""
	}
	return inode, fmt.Sprintf("%s port %d", kind, port)
}

// isGone reports whether an error is that of a process that has ended meanwhile.
func isGone(err error) bool { return errors.Is(err, unix.ESRCH) || errors.Is(err, fs.ErrNotExist) }
