package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// maxRedirects is how many redirects to the same host are followed.
const maxRedirects = 10

// HTTPOptions are the choices of [HTTP]. The zero value is good for most services.
type HTTPOptions struct {
	// Status is the range of good status codes; the zero value means 200 to 399, as for Kubernetes.
	Status StatusRange
	// Match must match the start of a good answer's body, of at most 64 KiB; nil takes every body. A *regexp.Regexp is
	// a Matcher.
	Match Matcher
	// Header is sent along. Host, User-Agent and Accept replace what would be sent otherwise.
	Header []Header
	// Secure makes a TLS connection of conn, for a server called host, and returns when the handshake is done. Without
	// it there is no https, so that small programs need not link TLS; package health/healthtls has it.
	Secure func(ctx context.Context, conn net.Conn, host string) (net.Conn, error)
}

// Matcher says whether a body is as it should be.
type Matcher interface {
	// Match says whether the body matches.
	Match(body []byte) bool
	// String names what is looked for.
	String() string
}

// Contains gives a matcher for bodies with text in them.
func Contains(text string) Matcher { return contains(text) }

type contains string

func (s contains) Match(body []byte) bool { return bytes.Contains(body, []byte(s)) }
func (s contains) String() string         { return string(s) }

// ErrNoTLS says that an https URL was given to a probe without [HTTPOptions.Secure].
var ErrNoTLS = errors.New("https needs TLS, which is not built in here")

// httpProbe asks with GET.
type httpProbe struct {
	url  *url.URL
	opts HTTPOptions
	head string // the header lines that are the same for every host
	host string // the Host header that replaces the URL's
}

// HTTP gives a probe that sends GET to an http or https URL and judges status and body.
//
// Redirects to the same host name are followed, at most 10, also to another port, as by Kubernetes. A redirect that is
// not followed (to another host, one too many, to https without [HTTPOptions.Secure]) is judged by its own status: good
// by default, and Detail says so. Each request has a connection of its own, and the environment's proxies are not used.
//
// The answer must be HTTP/1.x with a head of at most 64 KiB; its body is read to its end or to 64 KiB, whichever
// comes first, and one that does not get there in time, or breaks off, is a failure.
//
// The error is about the URL or the options.
func HTTP(target string, opts HTTPOptions) (Probe, error) {
	u, err := ParseHTTP(target)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "https" && opts.Secure == nil {
		return nil, &TargetError{target, ErrNoTLS}
	}
	if opts.Status == (StatusRange{}) {
		opts.Status = StatusRange{200, 399}
	}
	p := &httpProbe{url: u, opts: opts}
	if err := opts.Status.validate(); err != nil {
		return nil, err
	}
	return p, p.setHeader(opts.Header)
}

// String gives for example "http http://127.0.0.1:80/healthz".
func (p *httpProbe) String() string { return "http " + p.url.String() }

// Check asks once.
func (p *httpProbe) Check(ctx context.Context) Result {
	c, cancel := begin(ctx)
	defer cancel()
	target := p.url
	for hop := 0; ; hop++ {
		a, r := p.ask(c, target)
		if a == nil {
			return r
		}
		next, why := p.redirect(target, a)
		if next == nil {
			return p.judge(c, a, why)
		}
		if hop == maxRedirects {
			return p.judge(c, a, fmt.Sprintf("more than %d redirects", maxRedirects))
		}
		target = next
	}
}

// ask sends one request and reads its answer; without an answer it gives the result.
func (p *httpProbe) ask(c *check, target *url.URL) (*answer, Result) {
	conn, err := c.dial("tcp", hostAndPort(target))
	if err != nil {
		return nil, c.failed("connection", err)
	}
	defer c.guard(conn)()
	if target.Scheme == "https" {
		if conn, err = p.opts.Secure(c.ctx, conn, target.Hostname()); err != nil {
			return nil, c.failed("TLS handshake", err)
		}
	}
	if _, err := conn.Write(p.request(target)); err != nil {
		return nil, c.failed("time to send the request", err)
	}
	a, err := readAnswer(conn)
	switch {
	case err != nil && a == nil:
		return nil, c.failed("answer", err)
	case err != nil && p.opts.Status.Contains(a.status):
		return nil, c.failed(fmt.Sprintf("end of the body (http %d)", a.status), fmt.Errorf("http %d: %w", a.status, err))
	}
	return a, Result{}
}

// redirect gives where the answer leads, or why it is not followed if it leads somewhere.
func (p *httpProbe) redirect(from *url.URL, a *answer) (next *url.URL, why string) {
	location := a.header.Get("Location")
	switch a.status {
	case 301, 302, 303, 307, 308:
	default:
		return nil, ""
	}
	if location == "" {
		return nil, "a redirect to nowhere"
	}
	next, err := from.Parse(location)
	if err == nil {
		next.User = nil
		next, err = ParseHTTP(next.String())
	}
	switch {
	case err != nil:
		return nil, "not followed: redirect to " + cut(location, 100)
	case !strings.EqualFold(next.Hostname(), p.url.Hostname()):
		return nil, "not followed: redirect to another host, " + next.Host
	case next.Scheme == "https" && p.opts.Secure == nil:
		return nil, "not followed: redirect to https"
	}
	return next, ""
}

// judge makes the result of the last answer.
func (p *httpProbe) judge(c *check, a *answer, note string) Result {
	detail := after(fmt.Sprintf("http %d", a.status), note)
	switch {
	case !p.opts.Status.Contains(a.status):
		return c.end(Fail, "%s", after(detail, firstLine(a.body)))
	case p.opts.Match != nil && !p.opts.Match.Match(a.body):
		return c.end(Fail, "%s, but the body has no %q", detail, cut(p.opts.Match.String(), 60))
	}
	return c.end(OK, "%s", detail)
}
