//go:build !linux || solehold_portable

package supervise

import (
	"os"
	"sync/atomic"
	"time"
)

// output passes the command's output on, unchanged, and keeps its end. A nil one
// keeps nothing.
type output struct {
	streams []*stream
	files   [3]*os.File // of the command, by number; nil for our own
	tail    tail
}

// stream is one file of the command that is ours to read.
type stream struct {
	read, write, to *os.File
	tail            *tail
	pieces          chan []byte // on their way to the reader
	passed          atomic.Int64
	dropped         int64
	done            chan struct{} // closed when the reader has all, or is gone
}

// newOutput makes pipes for what is no terminal: programs ask for that.
func newOutput(c Config) *output {
	o := &output{}
	if c.Output == OutputPass {
		return o
	}
	first, firstErr := os.Stdout.Stat()
	for n, own := range []*os.File{1: os.Stdout, 2: os.Stderr} {
		if own == nil || isTerminal(own) {
			continue
		}
		st, err := own.Stat()
		if n == 2 && o.files[1] != nil && err == nil && firstErr == nil && os.SameFile(first, st) {
			o.files[2] = o.files[1] // one pipe keeps the order of the lines
			continue
		}
		read, write, err := os.Pipe()
		if err != nil {
			c.Say("the end of the output will not be kept: %v", err)
			continue
		}
		s := &stream{read: read, write: write, to: own, tail: &o.tail, pieces: make(chan []byte), done: make(chan struct{})}
		o.files[n], o.streams = write, append(o.streams, s)
		go s.copy()
		go s.deliver()
	}
	return o
}

// standard is the command's three files.
func (o *output) standard() []*os.File {
	all := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	if o == nil {
		return all
	}
	for n, f := range o.files {
		if f != nil {
			all[n] = f
		}
	}
	return all
}

// fd is the descriptor that the command is to have as its n-th.
func (o *output) fd(n int) uintptr { return o.standard()[n].Fd() }

// kept returns the end of the output.
func (o *output) kept() []byte {
	if o == nil {
		return nil
	}
	return o.tail.text()
}

// settle waits until nothing more comes, for a while.
func (o *output) settle() {
	const look = 50 * time.Millisecond
	if o == nil {
		return
	}
	late := time.Now().Add(drain)
	for _, s := range o.streams {
		for before := int64(-1); before != s.passed.Load() && time.Now().Before(late); {
			before = s.passed.Load()
			time.Sleep(look)
		}
	}
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

// copy takes everything until the last writer is gone.
func (s *stream) copy() {
	defer close(s.pieces)
	defer s.read.Close() // a command that writes to nobody learns it as without us
	buf := make([]byte, 16<<10)
	for {
		n, err := s.read.Read(buf)
		if n > 0 {
			s.tail.mu.Lock()
			s.tail.add(buf[:n])
			s.tail.mu.Unlock()
			s.passed.Add(int64(n))
		}
		if err != nil || !s.pass(buf[:n]) {
			return
		}
	}
}

// pass hands on, or drops. It is false when the reader is gone.
func (s *stream) pass(text []byte) bool {
	patience := stall
	if s.dropped > 0 {
		patience = 0
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case s.pieces <- append(gap(s.dropped), text...):
		s.dropped = 0
	case <-s.done:
		return false
	case <-late.C:
		s.dropped += int64(len(text))
	}
	return true
}

// deliver writes on, and waits for a slow reader in the place of the command.
func (s *stream) deliver() {
	defer close(s.done)
	for piece := range s.pieces {
		if _, err := s.to.Write(piece); err != nil {
			return
		}
	}
}
