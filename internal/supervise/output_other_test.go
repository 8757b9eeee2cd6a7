//go:build darwin || dragonfly || freebsd || netbsd || openbsd || windows || (linux && solehold_portable)

package supervise

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// streaming is a stream to a pipe of the test.
func streaming(t *testing.T) (o *output, s *stream, reader *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	must(t, err)
	reader, to, err := os.Pipe()
	must(t, err)
	o = &output{}
	s = &stream{read: read, write: write, to: to, tail: &o.tail, pieces: make(chan []byte), done: make(chan struct{})}
	o.streams = []*stream{s}
	go s.copy()
	go s.deliver()
	t.Cleanup(func() {
		reader.Close()
		write.Close()
		to.Close()
	})
	return o, s, reader
}

// All is passed on unchanged and in order, and its end is kept.
func TestOutputPassesOn(t *testing.T) {
	t.Parallel()
	o, s, reader := streaming(t)
	text := bytes.Repeat([]byte("0123456789abcdef"), 3*tailSize/16)
	got := make(chan []byte, 1)
	go func() {
		all, _ := io.ReadAll(io.LimitReader(reader, int64(len(text))))
		got <- all
	}()
	_, err := s.write.Write(text)
	must(t, err)
	if all := <-got; !bytes.Equal(all, text) {
		t.Errorf("%d bytes came, of %d", len(all), len(text))
	}
	o.settle()
	if kept := o.kept(); !bytes.Equal(kept, text[len(text)-tailSize:]) {
		t.Errorf("%d bytes are kept", len(kept))
	}
	o.close()
}

// A reader who takes nothing does not hold up the command: what he misses is
// counted, and told to him when he goes on.
func TestOutputOfASlowReader(t *testing.T) {
	t.Parallel()
	o, s, reader := streaming(t)
	const size = 4 << 20 // more than any pipe takes
	piece := []byte(strings.Repeat("x", 4096))
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := 0; n < size; n += len(piece) {
			s.write.Write(piece)
		}
	}()
	select {
	case <-written:
	case <-time.After(patience):
		t.Fatal("the command hangs with its reader")
	}
	o.settle()
	marks := make(chan bool, 1)
	go func() {
		var seen []byte
		buf := make([]byte, 64<<10)
		for {
			n, err := reader.Read(buf)
			seen = append(seen, buf[:n]...)
			if err != nil || bytes.Contains(seen, []byte("bytes of output are missing here")) {
				marks <- err == nil
				return
			}
		}
	}()
	for told := false; !told; {
		s.write.Write([]byte("and on\n"))
		select {
		case ok := <-marks:
			if told = true; !ok {
				t.Error("nobody was told of what is missing")
			}
		case <-time.After(time.Millisecond):
		}
	}
	if kept := o.kept(); len(kept) != tailSize {
		t.Errorf("%d bytes are kept", len(kept))
	}
}

// A reader who is gone is told to the command as without us: its pipe breaks.
func TestOutputWithoutReader(t *testing.T) {
	t.Parallel()
	_, s, reader := streaming(t)
	must(t, reader.Close())
	end := time.Now().Add(patience)
	for {
		if _, err := s.write.Write([]byte("is anybody there?\n")); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the command is never told")
		}
	}
}

// Without capture the command has our own files.
func TestOutputPass(t *testing.T) {
	t.Parallel()
	var none *output
	own := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	for _, o := range []*output{none, newOutput(Config{Output: OutputPass})} {
		for n, f := range o.standard() {
			if f != own[n] {
				t.Errorf("file %d is another one", n)
			}
		}
		if o.kept() != nil && len(o.kept()) > 0 {
			t.Error("something is kept")
		}
		o.settle()
		o.close()
	}
}
