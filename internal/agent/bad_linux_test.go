package agent_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// attempt is a run that must come to nothing: it returns what was said.
func attempt(t *testing.T, url string, want int) string {
	t.Helper()
	dir := t.TempDir()
	code, text := exited(t, tool, "run", "--cluster", url, "--cluster-name", "x", dir, "--", "touch", filepath.Join(dir, "started"))
	if code != want {
		t.Errorf("code %d, want %d: %s", code, want, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("it was started")
	}
	return text
}

// A wrong password is not the lock's fault, and is not shown.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	host := engine(t)
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{host}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	for _, do := range []func() error{
		func() error { _, err := c.RoleAdd(ctx, "root"); return err },
		func() error { _, err := c.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := attempt(t, "etcd://root@"+host+"/p?password-file="+file, 74); !strings.Contains(text, "invalid user ID or password") || strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	if text := attempt(t, "etcd://"+host+"/p", 74); !strings.Contains(text, "user name is empty") {
		t.Error("without a name: ", text)
	}
}

// A server whose certificate nobody here vouches for is not spoken to.
func TestWrongCertificate(t *testing.T) {
	t.Parallel()
	cert, ca := selfSigned(t)
	_, other := selfSigned(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	etcdserverpb.RegisterMaintenanceServer(server, &oldEtcd{version: "3.4.23"})
	go server.Serve(l)
	t.Cleanup(server.Stop)
	attempt(t, "etcd://"+l.Addr().String()+"/p?ca="+other, 74)
	if text := attempt(t, "etcd://"+l.Addr().String()+"/p?strict=1&ca="+ca, 78); !strings.Contains(text, "3.4.23") {
		t.Error("with the right one it is spoken to: ", text)
	}
}

// selfSigned makes a certificate for this host, and a file that vouches for it.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// oldEtcd says that it is of some version, and nothing else.
type oldEtcd struct {
	etcdserverpb.UnimplementedMaintenanceServer
	version string
}

func (o *oldEtcd) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Version: o.version}, nil
}

// An engine with known faults is named: as a warning, and with strict=1 as a refusal.
func TestOldEngine(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	etcdserverpb.RegisterMaintenanceServer(server, &oldEtcd{version: "3.4.23\x1b[31m"}) // a terminal must not obey it
	go server.Serve(l)
	t.Cleanup(server.Stop)
	if text := attempt(t, "etcd://"+l.Addr().String()+"/p?strict=1", 78); !strings.Contains(text, "3.4.38") || strings.Contains(text, "\x1b") {
		t.Error(text)
	}
	if text := attempt(t, "etcd://"+l.Addr().String()+"/p", 74); !strings.Contains(text, "warning") || !strings.Contains(text, "3.4.38") || strings.Contains(text, "\x1b") {
		t.Error(text)
	}
}

// A cloned disk has the machine's id, the records and the token of the first machine: it is another owner all the same.
func TestClonedDisk(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	first, second := newHost(t, "x", etcd), newHost(t, "x", etcd)
	a := first.start()
	one := a.works()
	if out, text := exited(t, "cp", "-a", first.dir+"/.", second.dir); out != 0 {
		t.Fatal(text)
	}
	refused := second.start("--held-exit", "75")
	if code := refused.ended(); code != 75 || refused.started() {
		t.Errorf("code %d: %s", code, refused.stderr.String())
	}
	b := second.start("--wait", "forever")
	testneed.Until(t, "it does not wait", func() bool { return strings.Contains(b.stderr.String(), "waiting") })
	a.signal(syscall.SIGTERM)
	two := b.works()
	a.ended()
	if two.Token <= one.Token || two.Owned <= a.acted() {
		t.Errorf("token %d after %d, owned at %v, the first acted at %v", two.Token, one.Token, two.Owned, a.acted())
	}
	b.signal(syscall.SIGTERM)
	b.ended()
}

// What an operator does reaches a run: its claim is broken, the command is stopped at once, and the reason is kept.
func TestBrokenClaim(t *testing.T) {
	t.Parallel()
	h := newHost(t, "x/y z", engine(t))
	a := h.start()
	b := a.works()
	at := []string{"--cluster", h.url(), "--timeout", patience.String(), h.name}
	if code, text := exited(t, tool, append([]string{"status"}, at...)...); code != 0 || !strings.Contains(text, "HELD") {
		t.Errorf("code %d: %s", code, text)
	}
	code, text := exited(t, tool, append([]string{"cluster", "break", "--reason", "a drill", "--token", strconv.FormatUint(b.Token, 10)}, at...)...)
	if code != 0 {
		t.Fatalf("code %d: %s", code, text)
	}
	if code := a.ended(); code != lost || !strings.Contains(a.stderr.String(), "removed or taken") {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	if code, text := exited(t, tool, append([]string{"status"}, at...)...); code != 3 || !strings.Contains(text, "a drill") {
		t.Errorf("code %d: %s", code, text)
	}
}
