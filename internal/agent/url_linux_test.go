package agent_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent"
)

// Each engine takes the parameters that docs/cluster.md gives it, and refuses those of the others.
func TestDocumentedParameters(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	takes := map[string]string{} // by engine: its row
	for _, row := range regexp.MustCompile("(?m)^\\| `(etcd|postgres|redis|zookeeper)` \\|.*\\|$").FindAllStringSubmatch(string(text), -1) {
		takes[row[1]] = row[0]
	}
	if len(takes) != 4 {
		t.Fatalf("%d engines have a row", len(takes))
	}
	values := values(t)
	for engine, row := range takes {
		for name, value := range values {
			b, err := open(engine + "://h/p?" + value)
			if err == nil {
				b.Close()
			}
			switch documented := strings.Contains(row, "`"+name+"`"); {
			case documented && err != nil:
				t.Errorf("%s does not take %s: %v", engine, name, err)
			case !documented && !errors.Is(err, cluster.ErrURL):
				t.Errorf("%s takes %s, which is not documented: %v", engine, name, err)
			}
		}
	}
}

func open(url string) (cluster.Backend, error) {
	target, err := cluster.ParseURL(url, cluster.Sources{ReadFile: os.ReadFile})
	if err != nil {
		return nil, err
	}
	return agent.Engine(target)
}

// values gives something for each parameter.
func values(t *testing.T) map[string]string {
	t.Helper()
	cert, ca := selfSigned(t)
	pair := filepath.Join(t.TempDir(), "pair.pem")
	key, err := x509.MarshalECPrivateKey(cert.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})...)
	if err := os.WriteFile(pair, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"user": "user=bob", "password-file": "password-file=" + pair, "tls": "tls=1", "ca": "ca=" + ca,
		"cert": "cert=" + pair + "&key=" + pair, "key": "cert=" + pair + "&key=" + pair,
		"strict": "strict=1", "schema": "schema=s", "create": "create=0", "master": "master=m", "cluster": "cluster=1", "db": "db=1",
	}
}
