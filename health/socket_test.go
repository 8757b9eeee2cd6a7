package health_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/health"
)

func TestTCP(t *testing.T) {
	addr := serve(t, silent)
	r := within(ample, must(t)(health.TCP(addr)))
	want(t, r, health.OK, "tcp connected")
	if r.Peer.Remote.String() != addr || !r.Peer.Local.IsValid() || r.Peer.Path != "" || r.Took <= 0 {
		t.Errorf("%+v", r)
	}
	want(t, within(ample, must(t)(health.TCP(nobody(t)))), health.Fail, "connection refused")
}

// TestEveryAddressOfANameIsTried listens on one of those that localhost may have.
func TestEveryAddressOfANameIsTried(t *testing.T) {
	_, port, _ := net.SplitHostPort(serve(t, silent))
	r := within(ample, must(t)(health.TCP("localhost:"+port)))
	want(t, r, health.OK, "tcp connected")
	if r.Peer.Remote.Addr().String() != "127.0.0.1" {
		t.Errorf("peer %v", r.Peer.Remote)
	}
	_, port, _ = net.SplitHostPort(nobody(t))
	want(t, within(ample, must(t)(health.TCP("localhost:"+port))), health.Fail, "refused")
}

func TestUnix(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	p := must(t)(health.Unix(path))
	want(t, within(ample, p), health.OK, "unix connected")
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	want(t, within(ample, p), health.Fail, "refused")
	os.Remove(path)
	want(t, within(ample, p), health.Fail, "no such file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, within(ample, p), health.Fail, "refused")
}

func TestSocketsThatCannotBe(t *testing.T) {
	if _, err := health.TCP("localhost"); err == nil || !strings.Contains(err.Error(), "no port") {
		t.Errorf("tcp: %v", err)
	}
	if _, err := health.Unix("s"); err == nil || !strings.Contains(err.Error(), "relative") {
		t.Errorf("unix: %v", err)
	}
}

// TestNothingIsLeft asks each kind of server many times.
func TestNothingIsLeft(t *testing.T) {
	unix := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", unix)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	http := func(handle func(net.Conn)) health.Probe {
		return must(t)(health.HTTP("http://"+serve(t, handle), health.HTTPOptions{}))
	}
	const head = "HTTP/1.1 200 OK\r\n"
	for name, p := range map[string]health.Probe{
		"good":         http(answering(head + "\r\nok")),
		"silent":       http(silent),
		"garbage":      http(answering("garbage\n")),
		"endless head": http(answeringForEver(head+"X-A: ", "x")),
		"endless body": http(answeringForEver(head+"\r\n", "x")),
		"slow head":    http(dripping(head, "X-A: 1\r\n")),
		"slow body":    http(dripping(head+"\r\n", "x")),
		"redirects":    http(answering("HTTP/1.1 302 Go\r\nLocation: /\r\n\r\n")),
		"refused":      must(t)(health.TCP(nobody(t))),
		"no name":      must(t)(health.TCP("nobody.invalid:1")),
		"tcp":          must(t)(health.TCP(serve(t, silent))),
		"name":         must(t)(health.HTTP("http://"+strings.Replace(serve(t, silent), "127.0.0.1", "localhost", 1), health.HTTPOptions{})),
		"unix":         must(t)(health.Unix(unix)),
		"file":         must(t)(health.File(unix, ample)),
	} {
		t.Run(name, func(t *testing.T) {
			within(brief, p) // whatever is opened once is open
			nothingLeft(t, func() {
				for range 5 {
					within(brief/5, p)
				}
			})
		})
	}
}

// TestSeveralAtOnce asks one probe from several goroutines.
func TestSeveralAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "alive")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []health.Probe{
		must(t)(health.HTTP("http://"+serve(t, answering("HTTP/1.1 200 OK\r\n\r\n")), health.HTTPOptions{})),
		must(t)(health.TCP(serve(t, silent))),
		must(t)(health.File(file, ample)),
	} {
		answers := make(chan health.Result)
		const n = 8
		for range n {
			go func() { answers <- within(ample, p) }()
		}
		for range n {
			want(t, <-answers, health.OK, "")
		}
	}
}
