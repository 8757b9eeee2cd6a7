package web_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/web"
)

// refused gives what an address is refused for.
func refused(t *testing.T, address string) *web.ListenError {
	t.Helper()
	l, err := web.Listen(address)
	if err == nil {
		l.Close()
		t.Errorf("%s is listened on", address)
	}
	e, ok := errors.AsType[*web.ListenError](err)
	if !ok {
		t.Fatalf("%s: %v", address, err)
	}
	if e.Next == "" || !strings.HasPrefix(e.Error(), address+": ") {
		t.Errorf("%s: %v, next %s", address, e, e.Next)
	}
	return e
}

// Only a loopback address is listened on.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.7:0", "example.com:0", "127.0.0.1", "9321", "", "127.0.0.1.evil.example:0", "unix:", "localhost"} {
		if e := refused(t, address); e.Code != web.CodeUsage {
			t.Errorf("%s: %d", address, e.Code)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "127.0.0.9:0", "localhost:0", "[::1]:0"} {
		l, err := web.Listen(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("%s: %v", address, l.Addr())
		}
		l.Close()
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	l, err := web.Listen("127.0.0.1:0")
	must(t, err)
	defer l.Close()
	if e := refused(t, l.Addr().String()); e.Code != web.CodeCreate || !strings.Contains(e.Error(), "another program listens there") {
		t.Errorf("%d %v", e.Code, e)
	}
}

// A socket that is there is taken away only if nobody can be listening on it; what
// else is there is never touched.
func TestSocketExists(t *testing.T) {
	t.Parallel()
	folder := dataDir(t)
	path := filepath.Join(folder, "s")
	l, err := web.Listen("unix:" + path)
	must(t, err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("%v %v", info, err)
	}
	if e := refused(t, "unix:"+path); e.Code != web.CodeCreate || !strings.Contains(e.Error(), "another program listens") {
		t.Errorf("alive: %v", e)
	}
	l.Close()
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	dead.SetUnlinkOnClose(false)
	dead.Close()
	again, err := web.Listen("unix:" + path)
	if err != nil {
		t.Fatalf("dead: %v", err)
	}
	again.Close()

	file := filepath.Join(folder, "file")
	must(t, os.WriteFile(file, []byte("mine"), 0o600))
	link := filepath.Join(folder, "link")
	must(t, os.Symlink(file, link))
	for _, other := range []string{file, link, folder} {
		if e := refused(t, "unix:"+other); e.Code != web.CodeCreate || !strings.Contains(e.Error(), "no socket") {
			t.Errorf("%s: %v", other, e)
		}
	}
	if text, err := os.ReadFile(link); err != nil || string(text) != "mine" {
		t.Errorf("%q %v", text, err)
	}
	if e := refused(t, "unix:"+filepath.Join(folder, "missing", "s")); e.Code != web.CodeCreate {
		t.Errorf("%v", e)
	}
}

// A socket of another user stays, dead or not.
func TestSocketOfAnother(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root can make one
	}
	path := filepath.Join(dataDir(t), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	dead.SetUnlinkOnClose(false)
	dead.Close()
	must(t, os.Chown(path, 65534, 65534))
	if e := refused(t, "unix:"+path); !strings.Contains(e.Error(), "another user") {
		t.Errorf("%v", e)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}
