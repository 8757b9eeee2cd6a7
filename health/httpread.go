package health

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
)

const (
	headLimit = 64 << 10 // of all heads of an answer together
	bodyLimit = 64 << 10
	wireLimit = 4 * bodyLimit // of a body with its chunk lines
	lineSize  = 1 << 10       // of a status line and of a chunk line; a small buffer keeps a wrapper small
)

var (
	errNone  = errors.New("the connection was closed without an answer")
	errHead  = errors.New("the head of the answer is longer than 64 KiB")
	errChunk = errors.New("malformed chunk in the body")
	errBody  = errors.New("the body ended early")
)

// answer is what a server said.
type answer struct {
	status int
	header textproto.MIMEHeader
	body   []byte // its start, up to bodyLimit
}

// readAnswer reads an answer to GET. With an error the answer has a status if its head was good.
//
// This is not net/http because that costs a program that links it 3 MB on disk, 2.7 MiB of private memory and a quarter
// more time to start, for the little of it that a probe needs: one GET, no reuse, bounded sizes. The tests compare the two.
func readAnswer(conn net.Conn) (*answer, error) {
	source := &noting{r: conn}
	wire := &io.LimitedReader{R: source, N: headLimit}
	br := bufio.NewReaderSize(wire, lineSize)
	a, err := readFinalHead(br)
	if err != nil {
		switch {
		case source.err != nil:
			err = source.err
		case wire.N <= 0:
			err = errHead
		}
		return nil, err
	}
	wire.N = wireLimit
	body, err := a.bodyReader(br)
	if err != nil || body == nil {
		return a, err
	}
	a.body, err = io.ReadAll(io.LimitReader(body, bodyLimit))
	if wire.N <= 0 && len(a.body) < bodyLimit {
		err = errChunk // more chunk lines than body
	}
	return a, err
}

// noting keeps why there is no more to read: those who read lines take the rest for a line that is malformed.
type noting struct {
	r   io.Reader
	err error // other than io.EOF
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && err != io.EOF {
		n.err = err
	}
	return k, err
}

// readFinalHead reads heads until one that is no interim answer, such as 100 or 103.
func readFinalHead(br *bufio.Reader) (*answer, error) {
	for {
		a, err := readHead(br)
		if err != nil || a.status >= 200 || a.status == 101 {
			return a, err
		}
	}
}

func readHead(br *bufio.Reader) (*answer, error) {
	const proto = "HTTP/1."
	start, err := br.Peek(len(proto)) // no need to wait for the end of a line of garbage
	if !bytes.HasPrefix([]byte(proto), start[:min(len(start), len(proto))]) {
		return nil, fmt.Errorf("not an HTTP/1 answer: %q", start)
	}
	switch {
	case err == io.EOF && len(start) == 0:
		return nil, errNone
	case err != nil:
		return nil, err
	}
	slice, err := br.ReadSlice('\n')
	if err != nil && err != bufio.ErrBufferFull {
		return nil, err
	}
	line := strings.TrimRight(string(slice), "\r\n")
	_, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	status, err := strconv.ParseUint(code, 10, 16)
	if err != nil || len(code) != 3 || status < 100 || len(line) == br.Size() {
		return nil, fmt.Errorf("not an HTTP/1 answer: %q", cut(line, 60))
	}
	header, err := textproto.NewReader(br).ReadMIMEHeader()
	if strings.HasPrefix(line, "HTTP/1.0") {
		header.Del("Transfer-Encoding") // it had none
	}
	return &answer{status: int(status), header: header}, err
}

// bodyReader gives the body without the framing, or nil where there is none.
func (a *answer) bodyReader(br *bufio.Reader) (io.Reader, error) {
	coding, lengths := a.header.Values("Transfer-Encoding"), a.header.Values("Content-Length")
	switch {
	case a.status < 200, a.status == 204, a.status == 304:
		return nil, nil
	case len(coding) > 0:
		if len(coding) > 1 || !strings.EqualFold(coding[0], "chunked") {
			return nil, fmt.Errorf("transfer coding %q", cut(strings.Join(coding, ", "), 40))
		}
		return &chunks{br: br}, nil
	case len(lengths) > 0:
		n, err := strconv.ParseUint(lengths[0], 10, 63)
		if err != nil || len(lengths) > 1 && lengths[1] != lengths[0] {
			return nil, fmt.Errorf("content length %q", cut(strings.Join(lengths, ", "), 40))
		}
		return &exactly{br, int64(n)}, nil
	}
	return br, nil
}

// exactly reads n bytes and minds fewer.
type exactly struct {
	r io.Reader
	n int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.n)])
	e.n -= int64(n)
	if err == io.EOF && e.n > 0 {
		err = errBody
	}
	return n, err
}

// chunks reads a chunked body. Trailers are left unread.
type chunks struct {
	br   *bufio.Reader
	left int64 // of the chunk
	err  error
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.left == 0 && c.err == nil {
		c.left, c.err = c.next()
	}
	if c.err != nil {
		return 0, c.err
	}
	part := exactly{c.br, c.left}
	n, err := part.Read(p)
	if c.left = part.n; c.left == 0 && err == nil {
		err = c.lineEnd()
	}
	c.err = err
	return n, err
}

// next reads the line before a chunk: its size in hex and perhaps extensions.
func (c *chunks) next() (int64, error) {
	line, err := c.br.ReadSlice('\n')
	switch {
	case err == io.EOF:
		return 0, errBody
	case err == bufio.ErrBufferFull:
		return 0, errChunk
	case err != nil:
		return 0, err
	}
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
	if err != nil {
		return 0, errChunk
	}
	if size == 0 {
		return 0, io.EOF
	}
	return int64(size), nil
}

func (c *chunks) lineEnd() error {
	line, err := c.br.ReadSlice('\n')
	switch {
	case err == io.EOF:
		return errBody
	case err == bufio.ErrBufferFull, err == nil && len(bytes.TrimSpace(line)) > 0:
		return errChunk
	}
	return err
}
