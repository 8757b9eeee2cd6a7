package health_test

import (
	"net"
	"strings"
	"testing"

	"github.com/solehold/solehold/health"
)

// TestHTTPThatHangs has servers that take the connection and more or less of the time.
func TestHTTPThatHangs(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	endless := strings.Repeat("x", 1024) + "\n"
	for name, x := range map[string]struct {
		serve  func(net.Conn)
		detail string
	}{
		"silent":              {silent, "no answer within "},
		"silent in status":    {answeringThenSilent("HTTP/1.1 20"), "no answer"},
		"silent before HTTP":  {answeringThenSilent("HT"), "no answer"},
		"silent in head":      {answeringThenSilent(ok + "X-A: 1\r\n"), "no answer"},
		"silent in body":      {answeringThenSilent(ok + "Content-Length: 10\r\n\r\n12345"), "http 200"},
		"silent in chunk":     {answeringThenSilent(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\n123"), "http 200"},
		"silent after body":   {answeringThenSilent(ok + "\r\n12345"), "no end of the body (http 200) within "},
		"dripping head":       {dripping("HTTP/1.1 200 OK\r\n", "X-A: 1\r\n"), "no answer"},
		"dripping body":       {dripping(ok+"\r\n", "x"), "no end of the body"},
		"endless interim":     {dripping("", "HTTP/1.1 103 Early Hints\r\n\r\n"), "no answer"},
		"dripping chunk line": {dripping(ok+"Transfer-Encoding: chunked\r\n\r\n", "0"), "no end of the body"},
		"silent in 503":       {answeringThenSilent("HTTP/1.1 503 Busy\r\n\r\nbusy\n"), "http 503: busy"},
	} {
		t.Run(name, func(t *testing.T) {
			p := must(t)(health.HTTP("http://"+serve(t, x.serve), health.HTTPOptions{}))
			r := within(brief, p)
			want(t, r, health.Fail, x.detail)
			inTime(t, r, brief)
		})
	}
	for name, x := range map[string]struct {
		serve   func(net.Conn)
		verdict health.Verdict
		detail  string
	}{
		"endless garbage":    {answeringForEver("", endless), health.Fail, "not an HTTP/1 answer"},
		"endless status":     {answeringForEver("HTTP/1.1 200 ", "x"), health.Fail, `not an HTTP/1 answer: "HTTP/1.1 200 xxx`},
		"endless header":     {answeringForEver(ok+"X-A: ", "x"), health.Fail, "longer than 64 KiB"},
		"endless headers":    {answeringForEver(ok, "X-A: "+endless), health.Fail, "longer than 64 KiB"},
		"endless interims":   {answeringForEver("", "HTTP/1.1 100 Continue\r\n\r\n"), health.Fail, "longer than 64 KiB"},
		"endless body":       {answeringForEver(ok+"\r\n", endless), health.OK, "http 200"},
		"endless chunks":     {answeringForEver(ok+"Transfer-Encoding: chunked\r\n\r\n", "5\r\n12345\r\n"), health.OK, "http 200"},
		"endless chunk line": {answeringForEver(ok+"Transfer-Encoding: chunked\r\n\r\n", "0"), health.Fail, "malformed chunk"},
		"endless extensions": {answeringForEver(ok+"Transfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("x", 1000)+"\r\n1\r\n"), health.Fail, "malformed chunk"},
		"endless 500":        {answeringForEver("HTTP/1.1 500 Oh\r\n\r\n", endless), health.Fail, "http 500: xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			want(t, get(t, "http://"+serve(t, x.serve), health.HTTPOptions{}), x.verdict, x.detail)
		})
	}
}

// TestHTTPThatHangsInQueue has a service that is stopped: the kernel takes the connection, and nobody answers.
func TestHTTPThatHangsInQueue(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want(t, within(ample, must(t)(health.TCP(l.Addr().String()))), health.OK, "tcp connected")
	r := within(brief, must(t)(health.HTTP("http://"+l.Addr().String(), health.HTTPOptions{})))
	want(t, r, health.Fail, "no answer within ")
	inTime(t, r, brief)
}
