package health

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// maxUnixPath is the longest path of a Unix socket everywhere; Linux takes four bytes more.
const maxUnixPath = 103

// TargetError is a target that cannot be asked, however the service may be.
type TargetError struct {
	// Target is what was given.
	Target string
	// Err says what is wrong with it.
	Err error
}

// Error gives the target and what is wrong with it.
func (e *TargetError) Error() string { return Line(fmt.Sprintf("%q: %v", cut(e.Target, 100), e.Err)) }

// Unwrap gives the reason.
func (e *TargetError) Unwrap() error { return e.Err }

func wrong(target, format string, args ...any) error {
	return &TargetError{target, fmt.Errorf(format, args...)}
}

// ParseHTTP reads the URL of a probe: http or https, a host, an optional port, no user and no password.
func ParseHTTP(target string) (*url.URL, error) {
	u, err := url.Parse(target)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, wrong(target, "not a URL: %w", err)
	}
	switch {
	case u.Scheme == "":
		return nil, wrong(target, "no scheme: say http://HOST:PORT/PATH")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, wrong(target, "scheme %q: only http and https can be asked", u.Scheme)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, wrong(target, "no host: say %s://HOST:PORT/PATH", u.Scheme)
	case u.User != nil:
		return nil, &TargetError{u.Redacted(), errors.New("user and password do not belong into a URL: use a header")}
	}
	port := u.Port()
	if port == "" && !strings.HasSuffix(u.Host, ":") {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if err := hostPort(u.Hostname(), port); err != nil {
		return nil, &TargetError{target, err}
	}
	return u, nil
}

// ParseTCP checks host:port; the port is a number.
func ParseTCP(target string) error {
	host, port, err := net.SplitHostPort(target)
	var bad *net.AddrError
	switch {
	case errors.As(err, &bad) && bad.Err == "missing port in address":
		return wrong(target, "no port: say HOST:PORT")
	case errors.As(err, &bad):
		return wrong(target, "%s: say HOST:PORT, and [HOST]:PORT for IPv6", bad.Err)
	}
	if err := hostPort(host, port); err != nil {
		return &TargetError{target, err}
	}
	return nil
}

func hostPort(host, port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case host == "":
		return errors.New("no host: for this machine say 127.0.0.1 or localhost")
	case port == "":
		return errors.New("no port: say HOST:PORT")
	case err != nil || n == 0:
		return fmt.Errorf("port %q: must be a number from 1 to 65535", cut(port, 20))
	}
	return hostName(host)
}

// hostName checks an address or a name of a host.
func hostName(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._", r)
	}
	if len(host) > 253 || strings.ContainsFunc(host, func(r rune) bool { return !ok(r) }) {
		return fmt.Errorf("host %q: neither an address nor a name in ASCII", cut(host, 40))
	}
	return nil
}

// ParseUnix checks the path of a Unix socket: absolute and not too long for the kernel, or @name on Linux.
func ParseUnix(target string) error {
	switch {
	case target == "":
		return wrong(target, "no path")
	case !filepath.IsAbs(target) && (!strings.HasPrefix(target, "@") || len(target) == 1):
		return wrong(target, "path is relative: say /PATH")
	case len(target) > maxUnixPath:
		return wrong(target, "path of %d bytes: a socket's path has at most %d", len(target), maxUnixPath)
	case strings.Contains(target, "\x00"):
		return wrong(target, "path contains a null byte")
	}
	return nil
}

// ParseGRPC reads HOST:PORT or HOST:PORT/SERVICE. No service means the server as a whole.
func ParseGRPC(target string) (address, service string, err error) {
	if strings.Contains(target, "://") {
		return "", "", wrong(target, "say HOST:PORT or HOST:PORT/SERVICE, without a scheme")
	}
	address, service, _ = strings.Cut(target, "/")
	if err := ParseTCP(address); err != nil {
		return "", "", err
	}
	return address, service, nil
}
