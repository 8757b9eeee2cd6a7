package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/web"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A browser that was led here by a name of an attacker's gets nothing; one that asks
// by a name that was allowed does.
func TestHosts(t *testing.T) {
	t.Parallel()
	base := serve(t, web.Options{Hosts: []string{"Owners.Example"}})
	ask := func(host string) int {
		r, err := http.NewRequest(http.MethodGet, base+"/api/overview", nil)
		must(t, err)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		return answer.StatusCode
	}
	for _, host := range []string{"localhost", "LOCALHOST:9321", "127.0.0.1:1", "[::1]:80", "owners.example", "owners.example.:9321"} {
		if code := ask(host); code != http.StatusOK {
			t.Errorf("%s: %d", host, code)
		}
	}
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:9321", "127.0.0.2", "169.254.169.254", "localhost@evil.example", "owners.example.evil", "0.0.0.0"} {
		if code := ask(host); code != http.StatusMisdirectedRequest && code != http.StatusBadRequest {
			t.Errorf("%s: %d", host, code)
		}
	}
	if answer := raw(t, base, "GET / HTTP/1.0\r\n\r\n"); !strings.Contains(answer, " 421 ") {
		t.Errorf("without a host: %.200s", answer)
	}
}

// Nothing but GET and HEAD is answered, on any path, and no body is read.
func TestMethods(t *testing.T) {
	t.Parallel()
	base := serve(t, web.Options{})
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"} {
		for _, path := range []string{"/", "/events", "/api/overview"} {
			answer := raw(t, base, method+" "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			if !strings.HasPrefix(answer, "HTTP/1.1 405 ") && !strings.HasPrefix(answer, "HTTP/1.1 400 ") || strings.Contains(answer, "Access-Control") {
				t.Errorf("%s %s: %.200s", method, path, answer)
			}
		}
	}
	if answer := raw(t, base, "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.Contains(answer, " 200 ") || strings.Contains(answer, "<html") {
		t.Errorf("HEAD: %.300s", answer)
	}
	if answer := raw(t, base, "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"); !strings.Contains(answer, " 400 ") {
		t.Errorf("a body: %.300s", answer)
	}
	if answer := raw(t, base, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("a", 64<<10)+"\r\n\r\n"); !strings.Contains(answer, " 431 ") {
		t.Errorf("a long header: %.300s", answer)
	}
	if answer := raw(t, base, "GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nConnection: close\r\n\r\n"); !strings.Contains(answer, " 403 ") {
		t.Errorf("from another site: %.300s", answer)
	}
}

// Each answer tells the browser to load nothing from elsewhere, and to run nothing
// that is in the page.
func TestHeaders(t *testing.T) {
	t.Parallel()
	base := serve(t, web.Options{})
	for _, path := range []string{"/", "/findings", "/no-such", "/style.css", "/live.js", "/api/graph"} {
		r, err := http.Get(base + path)
		must(t, err)
		text, err := io.ReadAll(r.Body)
		must(t, err)
		r.Body.Close()
		policy := r.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, r.Header)
		}
		if page := string(text); strings.Contains(page, "http://") && !strings.Contains(page, "www.w3.org") || strings.Contains(page, "https://") || strings.Contains(page, " style=") || strings.Contains(page, "onclick") {
			t.Errorf("%s leads elsewhere, or has a style or script of its own", path)
		}
	}
}

// Who sends a byte now and then is dropped; others are answered meanwhile.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	base := serve(t, web.Options{})
	var slow []net.Conn
	for range 200 {
		c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		must(t, err)
		defer c.Close()
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX-")
		must(t, err)
		slow = append(slow, c)
	}
	if code, _ := get(t, base+"/"); code != http.StatusOK {
		t.Errorf("the others: %d", code)
	}
	for _, c := range slow {
		c.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Fatalf("not dropped: %v", err)
		}
	}
}

// A thousand who listen for changes: some do, the others are told to ask again, and
// pages are answered all the while. Who goes makes room.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	base := serve(t, web.Options{})
	codes := map[string]int{}
	var open []net.Conn
	for range 1000 {
		c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		must(t, err)
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		_, err = io.WriteString(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		must(t, err)
		line, err := bufio.NewReader(c).ReadString('\n')
		must(t, err)
		codes[strings.Fields(line)[1]]++
		if strings.Contains(line, " 200 ") {
			open = append(open, c)
		}
	}
	if codes["200"] != 64 || codes["503"] != 936 {
		t.Errorf("%v", codes)
	}
	if code, _ := get(t, base+"/"); code != http.StatusOK {
		t.Errorf("a page: %d", code)
	}
	for _, c := range open {
		c.Close()
	}
	for end := time.Now().Add(patience); ; { // the server sees it when it says something
		r, err := http.Get(base + "/events")
		must(t, err)
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no room was made")
		}
		<-time.After(100 * time.Millisecond)
	}
}

// A change is told to who listens, as it comes, by a number that rises.
func TestStreamTells(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	base := serve(t, shows(dir))
	r, err := http.Get(base + "/events")
	must(t, err)
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	next := func() (n int) {
		for lines.Scan() {
			if _, err := fmt.Sscanf(lines.Text(), "data: %d", &n); err == nil {
				return n
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return 0
	}
	first := next()
	start(t, nil, "hold "+dir)
	if again := next(); again <= first {
		t.Errorf("%d after %d", again, first)
	}
	until(t, base+"/", "HELD")
}
