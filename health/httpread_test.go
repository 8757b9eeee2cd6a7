package health_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/solehold/solehold/health"
)

// read reads an answer that is there in whole, through a connection.
func read(t testing.TB, text string) (status int, body []byte, err error) {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		io.WriteString(there, text)
		there.Close()
	}()
	return health.ReadAnswer(here)
}

func TestAnswers(t *testing.T) {
	big := strings.Repeat("x", 64<<10)
	for name, x := range map[string]struct {
		text   string
		status int
		body   string
	}{
		"to the end":        {"HTTP/1.1 200 OK\r\n\r\nbody", 200, "body"},
		"length":            {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody and more", 200, "body"},
		"same length twice": {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nbody", 200, "body"},
		"empty":             {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""},
		"chunks":            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nbo\r\n002;x=y\r\ndy\r\n0\r\nT: 1\r\n\r\n", 200, "body"},
		"chunk in capitals": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA \r\n0123456789\r\n0\r\n\r\n", 200, "0123456789"},
		"1.0":               {"HTTP/1.0 200 OK\r\n\r\nbody", 200, "body"},
		"1.0 and chunks":    {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbody", 200, "body"},
		"no reason":         {"HTTP/1.1 200\r\n\r\n", 200, ""},
		"bare line feeds":   {"HTTP/1.1 200 OK\nX: y\n\nbody", 200, "body"},
		"interim":           {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hint\r\nLink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n", 204, ""},
		"no body on 304":    {"HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n", 304, ""},
		"switching":         {"HTTP/1.1 101 Go\r\n\r\nxyz", 101, ""},
		"more than kept":    {"HTTP/1.1 200 OK\r\n\r\n" + big + big, 200, big},
		"long and declared": {"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n" + big + big, 200, big},
	} {
		status, body, err := read(t, x.text)
		if err != nil || status != x.status || string(body) != x.body {
			t.Errorf("%s: %d, %d bytes, %v", name, status, len(body), err)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, x := range map[string]struct{ text, detail string }{
		"nothing":             {"", "closed without an answer"},
		"another protocol":    {"SSH-2.0-OpenSSH_9\r\n", `not an HTTP/1 answer: "SSH-2.0`},
		"HTTP/2":              {"\x00\x00\x12\x04\x00\x00\x00\x00\x00", "not an HTTP/1 answer"},
		"short":               {"HTTP", "closed in the middle"},
		"status line only":    {"HTTP/1.1 200 OK", "closed in the middle"},
		"head only":           {"HTTP/1.1 200 OK\r\nX: y\r\n", "closed in the middle"},
		"no number":           {"HTTP/1.1 OK\r\n\r\n", "not an HTTP/1 answer"},
		"long number":         {"HTTP/1.1 2000 OK\r\n\r\n", "not an HTTP/1 answer"},
		"low number":          {"HTTP/1.1 099 OK\r\n\r\n", "not an HTTP/1 answer"},
		"signed":              {"HTTP/1.1 +20 OK\r\n\r\n", "not an HTTP/1 answer"},
		"no colon":            {"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "malformed"},
		"steering a terminal": {"HTTP/1.1 \x1b[2J\r\n\r\n", `\x1b`},
		"short body":          {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody", "body ended early"},
		"odd length":          {"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nbody", "content length"},
		"two lengths":         {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody", "content length"},
		"compressed":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "transfer coding"},
		"no chunk":            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "body ended early"},
		"chunk without size":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nbody", "malformed chunk"},
		"chunk with a sign":   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nbody", "malformed chunk"},
		"huge chunk":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nbody", "malformed chunk"},
		"chunk too long":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbody\r\n", "malformed chunk"},
		"chunk cut":           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbody", "body ended early"},
		"chunks cut":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n", "body ended early"},
		"chunk end cut":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody", "body ended early"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := read(t, x.text); err == nil {
				t.Error("taken")
			}
			want(t, get(t, "http://"+serve(t, answering(x.text)), health.HTTPOptions{}), health.Fail, x.detail)
		})
	}
}

// TestOldServersNeedNoRequest has one that answers before it has read anything.
func TestOldServersNeedNoRequest(t *testing.T) {
	addr := serve(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
		readRequest(c)
	})
	want(t, get(t, "http://"+addr, health.HTTPOptions{}), health.OK, "http 200")
}

// TestAnswerInPieces has every split of an answer in two.
func TestAnswerInPieces(t *testing.T) {
	const text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"
	for i := range len(text) {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			defer here.Close()
			go func() {
				io.WriteString(there, text[:i])
				synctest.Wait() // the reader has read all of it and wants more
				io.WriteString(there, text[i:])
				there.Close()
			}()
			if status, body, err := health.ReadAnswer(here); status != 200 || string(body) != "body" || err != nil {
				t.Errorf("split at %d: %d %q %v", i, status, body, err)
			}
			io.Copy(io.Discard, here)
		})
	}
}

// FuzzAnswer compares with the reader of net/http, and with what is promised of any answer.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nbody\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 503 Busy\nRetry-After: 5\n\nbusy"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		status, body, err := read(t, string(text))
		if len(body) > 64<<10 || status < 0 || status > 999 {
			t.Fatalf("status %d, %d bytes of body", status, len(body))
		}
		br := bufio.NewReader(bytes.NewReader(text))
		resp, e := http.ReadResponse(br, &http.Request{Method: http.MethodGet})
		for e == nil && resp.StatusCode < 200 && resp.StatusCode != 101 {
			resp, e = http.ReadResponse(br, &http.Request{Method: http.MethodGet})
		}
		if e != nil || err != nil {
			return // each is strict in its own way
		}
		theirs, e := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		if e == nil && (resp.StatusCode != status || status != 101 && !bytes.Equal(theirs, body)) {
			t.Errorf("%q: %d %q, net/http has %d %q", text, status, body, resp.StatusCode, theirs)
		}
	})
}
