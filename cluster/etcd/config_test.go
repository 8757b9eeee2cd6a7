package etcd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func put(key, value string) clientv3.Op { return clientv3.OpPut(key, value) }

func TestConfigOf(t *testing.T) {
	for url, want := range map[string]string{
		"etcd://h1,h2:1/a/b?strict=1": "[h1:2379 h2:1] /a/b true false",
		"etcd://h?tls=1":              "[h:2379] /solehold false true",
		"etcd://h?ca=/no/such/file":   "ca: open /no/such/file",
		"etcd://h?cert=/no&key=/no":   "cert and key: open /no",
		"etcd://h?session=1":          "does not know",
	} {
		target, err := cluster.ParseURL(url, cluster.Sources{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := etcd.ConfigOf(target)
		got := fmt.Sprint(c.Endpoints, " ", c.Prefix, " ", c.Strict, " ", c.TLS != nil)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.4.23": false, "3.4.37": false, "3.4.38": true, "3.5.12": false, "3.5.22": false, "3.5.23": true, "3.6.0": false,
		"3.6.5": true, "3.7.0": true, "3.8.0-alpha.0": true, "4.0.0": true, "3.3.27": false, "2.3.8": false, "": false, "new": false,
	} {
		if err := etcd.CheckVersion(version); (err == nil) != ok || err != nil && !errors.Is(err, etcd.ErrVersion) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestAuthentication uses a name and a password, and is refused without: that is no word about the lock.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	host := addr(start(t, 1)[0])
	admin := raw(t, host)
	ctx := t.Context()
	for _, do := range []func() error{
		func() error { _, err := admin.RoleAdd(ctx, "root"); return err },
		func() error { _, err := admin.UserAdd(ctx, "root", "secret"); return err },
		func() error { _, err := admin.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := admin.RoleAdd(ctx, "locks"); return err },
		func() error {
			_, err := admin.RoleGrantPermission(ctx, "locks", "/test/dir/", clientv3.GetPrefixRangeEnd("/test/dir/"), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := admin.UserAdd(ctx, "bob", "hunter2"); return err },
		func() error { _, err := admin.UserGrantRole(ctx, "bob", "locks"); return err },
		func() error { _, err := admin.AuthEnable(ctx); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	target, err := cluster.ParseURL("etcd://bob@"+host+"/test/dir", cluster.Sources{Env: func(string) string { return "hunter2" }})
	if err != nil {
		t.Fatal(err)
	}
	config, err := etcd.ConfigOf(target)
	if err != nil {
		t.Fatal(err)
	}
	b, err := etcd.New(config)
	if err != nil {
		t.Fatal(err)
	}
	const ttl = 8 * time.Second // a password is hashed, which takes long on a loaded machine
	c, err := cluster.New(b, cluster.Options{TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	l, err := c.Acquire(ctx, "a", cluster.AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(ttl * 13 / 20) // beyond 0.60: it was renewed
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	if err := l.Release(ctx); err != nil {
		t.Error(err)
	}
	anonymous, err := cluster.New(backend(t, host), cluster.Options{TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	defer anonymous.Close(ctx)
	if _, err := anonymous.Acquire(ctx, "a", cluster.AcquireOptions{}); err == nil || errors.Is(err, cluster.ErrHeld) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("without a name: %v", err)
	}
}
