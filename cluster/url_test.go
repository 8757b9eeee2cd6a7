package cluster_test

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
)

func sources() cluster.Sources {
	return cluster.Sources{
		Env: func(key string) string { return map[string]string{cluster.PasswordVariable: "from-env"}[key] },
		ReadFile: func(name string) ([]byte, error) {
			if name != "/run/secret" {
				return nil, fs.ErrNotExist
			}
			return []byte("from file\n"), nil
		},
	}
}

func TestParseURL(t *testing.T) {
	got, err := cluster.ParseURL("etcd://bob@h1:2379,h2,[::1]:9/a/b?ttl=30s&grace=5s&delay=4s&ca=/ca.pem&password-file=/run/secret&x=1", sources())
	if err != nil {
		t.Fatal(err)
	}
	if x := got.Params.Get("x"); x != "1" || len(got.Params) != 1 || got.Unknown() == nil {
		t.Errorf("parameters %v", got.Params)
	}
	if s := fmt.Sprintf("%v %+v", got, &got); strings.Contains(s, "from file") || !strings.HasPrefix(s, "etcd://h1:2379,h2,[::1]:9/a/b ") {
		t.Errorf("printed as %s", s)
	}
	if hosts := got.WithPort("7"); !reflect.DeepEqual(hosts, []string{"h1:2379", "h2:7", "[::1]:9"}) {
		t.Errorf("hosts %v", hosts)
	}
	got.Params = nil
	want := cluster.Target{
		Engine: "etcd", Hosts: []string{"h1:2379", "h2", "[::1]:9"}, Prefix: "/a/b", TTL: 30 * time.Second,
		Grace: 5 * time.Second, Delay: 4 * time.Second, User: "bob", Password: "from file", TLS: true, CAFile: "/ca.pem",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseURLDefaults(t *testing.T) {
	got, err := cluster.ParseURL("redis://h", sources())
	if err != nil || got.Prefix != "/solehold" || got.Password != "from-env" || got.TLS {
		t.Errorf("got %+v, %v", got, err)
	}
	if o, err := got.Options(); err != nil || o.TTL != 15*time.Second {
		t.Errorf("options %+v, %v", o, err)
	}
}

// TestParseURLRefuses finds each mistake, and shows no secret.
func TestParseURLRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		"":                              "ENGINE://",
		"etcd":                          "ENGINE://",
		"etcd://":                       "is not HOST",
		"etcd://a:b:c":                  "is not HOST",
		"etcd://u:hunter2@h":            "every user of this machine",
		"etcd://u:1/hunter2@h:2/p":      "every user of this machine",
		"etcd://h?password=hunter2":     "every user of this machine",
		"etcd://h?user=%zzhunter2":      "cannot be read",
		"etcd://h?ttl=fast":             "ttl is a time",
		"etcd://h?tls=maybe":            "tls is 1 or 0",
		"etcd://h?password-file=/other": "password-file",
		"etcd://h/a/../b":               "prefix",
	} {
		_, err := cluster.ParseURL(raw, sources())
		if !errors.Is(err, cluster.ErrURL) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// TestSum refuses a time to live that cannot work with the grace, and shows the sum.
func TestSum(t *testing.T) {
	target, err := cluster.ParseURL("etcd://h?ttl=15s&grace=10s", sources())
	if err != nil {
		t.Fatal(err)
	}
	_, err = target.Options()
	if err == nil || !strings.Contains(err.Error(), "told after 9s") || !strings.Contains(err.Error(), "makes 19s") || !strings.Contains(err.Error(), "at least 50s") {
		t.Error(err)
	}
	if _, err := cluster.New(cluster.NewMemory().Client(nil), cluster.Options{TTL: 15 * time.Second, Grace: 10 * time.Second}); err == nil {
		t.Error("a client took it")
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("etcd://u:secret@h:1,[::1]/p?ttl=1s&password=secret")
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := cluster.ParseURL(raw, cluster.Sources{})
		if err == nil && (len(target.Hosts) == 0 || target.Prefix == "" || target.Engine == "") {
			t.Errorf("%q gives %+v", raw, target)
		}
	})
}

func TestNames(t *testing.T) {
	for _, bad := range []string{"", "a\nb", "a\x00", "\xff", strings.Repeat("x", 513)} {
		if err := cluster.CheckName(bad); !errors.Is(err, cluster.ErrName) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for name, want := range map[string]string{
		"a": "a", "a/b": "a%2Fb", "a b": "a%20b", "..": "%2E%2E", ".": "%2E", "a..b": "a..b", "a:b@c": "a%3Ab%40c", "%2F": "%252F",
	} {
		if got := cluster.EscapeName(name); got != want || cluster.CheckName(name) != nil {
			t.Errorf("%q is written %q, want %q", name, got, want)
		}
	}
}

func FuzzEscapeName(f *testing.F) {
	f.Add("a/b", "a%2Fb")
	f.Add("..", "%2E%2E")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := cluster.EscapeName(a), cluster.EscapeName(b)
		if a != b && x == y || strings.Trim(x, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~%!*'()") != "" && !strings.ContainsAny(x, ",;") {
			t.Errorf("%q and %q are written %q and %q", a, b, x, y)
		}
	})
}

func TestRecord(t *testing.T) {
	r := cluster.RecordOf(cluster.Request{Nonce: "n", Delay: 3 * time.Second, Info: strings.Repeat("ä", 3000)})
	got, err := cluster.ParseRecord(r.Text())
	if err != nil || got != r || len(r.Info) > 2048 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "x", "{}", `{"solehold":1}`, `{"nonce":"n"}`, `{"solehold":1,"nonce":"n","delay_ms":-1}`} {
		if _, err := cluster.ParseRecord(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	for last, want := range map[string]cluster.Grant{
		"":       {Token: 7, Clean: true},
		"x":      {Token: 7},
		r.Text(): {Token: 7, Delay: 3 * time.Second},
		`{"solehold":1,"nonce":"n","delay_ms":1000,"ended":true}`: {Token: 7, Clean: true, Delay: time.Second},
	} {
		if got := cluster.GrantAfter(7, last); got != want {
			t.Errorf("after %.40q: %+v, want %+v", last, got, want)
		}
	}
}

func TestFaultsRefused(t *testing.T) {
	for _, bad := range []string{"x", "renew lost 1", "renew.request lost", "renew.request lost 0", "renew.request lost 3-2", "renew.request late 1", "renew.request late -1s 1", "fly.request lost 1", "renew.request lost @9s..2s", "renew.reply lost 1"} {
		if f, err := cluster.ParseFaults(bad); err == nil {
			t.Errorf("%q gives %v", bad, f)
		}
	}
}
