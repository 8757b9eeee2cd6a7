package health

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// StatusRange is a range of status codes, both ends included.
type StatusRange struct {
	// Min is the lowest good code.
	Min int
	// Max is the highest good code.
	Max int
}

// Contains says whether the code is in the range.
func (s StatusRange) Contains(code int) bool { return s.Min <= code && code <= s.Max }

// String gives for example "200-399", or "204" for a single code.
func (s StatusRange) String() string {
	if s.Min == s.Max {
		return strconv.Itoa(s.Min)
	}
	return fmt.Sprintf("%d-%d", s.Min, s.Max)
}

func (s StatusRange) validate() error {
	if s.Min < 100 || s.Max > 599 || s.Min > s.Max {
		return wrong(s.String(), "not a range of status codes: say for example 200-399 or 204")
	}
	return nil
}

// ParseStatus reads "200-399" or "204".
func ParseStatus(text string) (StatusRange, error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	lowest, err1 := strconv.ParseUint(low, 10, 16)
	highest, err2 := strconv.ParseUint(high, 10, 16)
	s := StatusRange{int(lowest), int(highest)}
	if err1 != nil || err2 != nil || s.validate() != nil {
		return StatusRange{}, wrong(text, "not a range of status codes: say for example 200-399 or 204")
	}
	return s, nil
}

// Header is one line of a request's head.
type Header struct {
	// Name is for example "X-Token".
	Name string
	// Value is what follows the colon.
	Value string
}

// ParseHeader reads "Name: value".
func ParseHeader(line string) (Header, error) {
	name, value, ok := strings.Cut(line, ":")
	h := Header{strings.TrimSpace(name), strings.Trim(value, " \t")}
	if !ok {
		return Header{}, wrong(line, "not a header: say NAME: VALUE")
	}
	return h, h.validate()
}

// validate keeps a header from being more than one, and from changing how the answer has to be read. Its value may be a
// secret and is not in the error.
func (h Header) validate() error {
	token := func(r rune) bool {
		return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	switch {
	case h.Name == "" || strings.ContainsFunc(h.Name, func(r rune) bool { return !token(r) }):
		return wrong(h.Name, "not the name of a header")
	case strings.ContainsFunc(h.Value, control):
		return wrong(h.Name, "the header's value contains a control character")
	}
	switch strings.ToLower(h.Name) {
	case "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer":
		return wrong(h.Name, "this header cannot be set: it is about the connection")
	}
	return nil
}

// setHeader checks the headers and makes the lines of them.
func (p *httpProbe) setHeader(headers []Header) error {
	defaults := map[string]string{"user-agent": "solehold-probe", "accept": "*/*"}
	var b strings.Builder
	for _, h := range headers {
		if err := h.validate(); err != nil {
			return err
		}
		name := strings.ToLower(h.Name)
		delete(defaults, name)
		if name == "host" {
			p.host = h.Value
			continue
		}
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	for _, name := range []string{"User-Agent", "Accept"} {
		if value, ok := defaults[strings.ToLower(name)]; ok {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	p.head = b.String()
	return nil
}

// request gives the bytes to send.
func (p *httpProbe) request(target *url.URL) []byte {
	host := target.Host
	if name, zone, ok := strings.Cut(host, "%"); ok { // a zone means nothing to the server
		_, rest, _ := strings.Cut(zone, "]")
		host = name + "]" + rest
	}
	if p.host != "" {
		host = p.host
	}
	return []byte("GET " + strings.ReplaceAll(target.RequestURI(), " ", "%20") + " HTTP/1.1\r\nHost: " + host + "\r\n" + p.head + "Connection: close\r\n\r\n")
}

// hostAndPort gives what to connect to.
func hostAndPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}
