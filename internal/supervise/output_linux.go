//go:build !solehold_portable

package supervise

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// output passes the command's output on, unchanged, and keeps its end. A nil one
// keeps nothing.
type output struct {
	streams []*stream
	files   [3]int // of the command, by number; -1 for our own descriptor
	tail    tail
}

// stream is one descriptor of the command that is ours to read.
type stream struct {
	read, write *os.File
	to          int
	tail        *tail
	dropped     int64
	done        chan struct{}
}

// newOutput makes pipes for those of the standard files that need one: a
// terminal is passed on, since programs ask for it, and a regular file too,
// since its end can be read when it is needed.
func newOutput(c Config) *output {
	o := &output{files: [3]int{-1, -1, -1}}
	if c.Output == OutputPass {
		return o
	}
	var seen [3]unix.Stat_t
	for fd := 1; fd <= 2; fd++ {
		st := &seen[fd]
		if unix.Fstat(fd, st) != nil || st.Mode&unix.S_IFMT == unix.S_IFREG || isTerminal(fd) {
			continue
		}
		if fd == 2 && len(o.streams) == 1 && seen[1].Dev == st.Dev && seen[1].Ino == st.Ino {
			o.files[2] = o.files[1] // one pipe keeps the order of the lines
			continue
		}
		read, write, err := pipe()
		if err != nil {
			c.Say("the end of the output will not be kept: %v", err)
			continue
		}
		s := &stream{read: read, write: write, to: unblocked(fd), tail: &o.tail, done: make(chan struct{})}
		o.files[fd] = int(write.Fd())
		o.streams = append(o.streams, s)
		go s.copy()
	}
	return o
}

// unblocked opens a pipe anew so that a write to it never blocks: others may fill
// it between our look and our write. Ours alone: the flag of the descriptor that we
// were given is everybody's. What cannot be opened stays as it is.
func unblocked(fd int) int {
	own, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return fd
	}
	return own
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// fd is the descriptor that the command is to have as its n-th.
func (o *output) fd(n int) uintptr {
	if o == nil || o.files[n] < 0 {
		return uintptr(n)
	}
	return uintptr(o.files[n])
}

// kept returns the end of the output, and of the regular files that it went to.
func (o *output) kept() []byte {
	if o == nil {
		return nil
	}
	text := o.tail.text()
	for fd := 1; fd <= 2; fd++ {
		var st, first unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if fd == 2 && unix.Fstat(1, &first) == nil && first.Dev == st.Dev && first.Ino == st.Ino {
			continue
		}
		text = append(text, endOf(fd, st.Size)...)
	}
	return text
}

// endOf reads the end of a file that is open for writing.
func endOf(fd int, size int64) []byte {
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.NewSectionReader(f, max(0, size-tailSize), tailSize))
	return text
}

// settle waits until what was written has been read, for a while.
func (o *output) settle() {
	if o == nil {
		return
	}
	late := time.Now().Add(drain)
	for _, s := range o.streams {
		for time.Now().Before(late) {
			if n, err := unix.IoctlGetInt(int(s.write.Fd()), unix.TIOCINQ); err != nil || n == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	o.tail.text() // waits for what has been read and not been kept yet
}

// close passes on what is left, for a while.
func (o *output) close() {
	if o == nil {
		return
	}
	late := time.NewTimer(drain)
	defer late.Stop()
	for _, s := range o.streams {
		s.write.Close()
		select {
		case <-s.done:
		case <-late.C:
			return // the reader does not read: what is left is lost with us, as the command's own would be
		}
	}
}

// copy passes everything on until the last writer is gone.
func (s *stream) copy() {
	defer close(s.done)
	if s.to > 2 { // ours
		defer unix.Close(s.to)
	}
	defer s.read.Close() // a command that writes to nobody learns it as without us
	raw, err := s.read.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 16<<10)
	for {
		n := s.take(raw, buf)
		if n <= 0 || !s.pass(buf[:n]) {
			return
		}
	}
}

// take reads and keeps in one step: what is no more in the pipe is in the tail.
func (s *stream) take(raw syscall.RawConn, buf []byte) (n int) {
	err := raw.Read(func(fd uintptr) bool {
		s.tail.mu.Lock()
		defer s.tail.mu.Unlock()
		var err error
		for n, err = unix.Read(int(fd), buf); err == unix.EINTR; n, err = unix.Read(int(fd), buf) {
		}
		s.tail.add(buf[:max(n, 0)])
		return err != unix.EAGAIN
	})
	if err != nil {
		return 0
	}
	return n
}

// pass writes on, or drops. It is false when the reader is gone.
func (s *stream) pass(text []byte) bool {
	const piece = 4096 // PIPE_BUF: a pipe that takes anything takes that at once
	for len(text) > 0 {
		patience := stall
		if s.dropped > 0 {
			patience = 0
		}
		if !writable(s.to, patience) {
			s.dropped += int64(len(text))
			return true
		}
		out, note := text[:min(len(text), piece)], gap(s.dropped)
		if len(note) > 0 { // in one piece with what follows: the room may be for one
			out = append(note, text[:min(len(text), piece-len(note))]...)
		}
		n, err := unix.Write(s.to, out)
		switch {
		case err == unix.EINTR, err == unix.EAGAIN:
			continue
		case err == unix.EPIPE || err == unix.ECONNRESET:
			return false
		case err != nil:
			return true // as a program that does not look at its errors
		}
		s.dropped = 0
		text = text[max(0, n-len(note)):]
	}
	return true
}

// writable waits until a descriptor takes something; one that is broken does.
func writable(fd int, patience time.Duration) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	for {
		n, err := unix.Poll(p, int(patience.Milliseconds()))
		if err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}
