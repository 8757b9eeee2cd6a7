package partition

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/solehold/solehold/bench/internal/helper"
	"github.com/solehold/solehold/bench/internal/report"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent"
	"github.com/solehold/solehold/internal/servers"
)

// Rig is what all trials have in common.
type Rig struct {
	// Solehold is the path of the command; solehold-cluster lies beside it.
	Solehold string
	// Dir is where data directories are made.
	Dir string
	// TTL is the time to live of each lock, Runs how many holders of each kind are
	// cut off.
	TTL   time.Duration
	Runs  int
	setup chan struct{} // full while trials start their programs: all at once would starve each other
	// Note is told what is left out, and why.
	Note func(format string, args ...any)
}

// Tables measures each engine that the choice wants, one after the other.
func (r Rig) Tables(ctx context.Context, wants func(engine string) bool) (all []report.Partition) {
	peers := map[string][]side{"etcd": {session()}, "redis": {rueidis()}, "zookeeper": {zooKeeper()}}
	for _, k := range []servers.Kind{etcd(), servers.Redis(), servers.ZooKeeper(), servers.PostgreSQL()} {
		if !wants(k.Name) {
			continue
		}
		if missing := k.Missing(); missing != "" {
			r.Note("%s is left out: needs %s; get it: %s", k.Name, missing, k.Get)
			continue
		}
		found, err := r.engine(ctx, k, peers[k.Name])
		if err != nil {
			r.Note("%s is left out: %v", k.Name, err)
		}
		all = append(all, found...)
	}
	return all
}

// engine measures one engine, whose server has a directory that its user reaches.
func (r Rig) engine(ctx context.Context, k servers.Kind, peers []side) ([]report.Partition, error) {
	dir, err := os.MkdirTemp("", "solehold-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, k.Name)
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	server, err := k.Start(data, func(addr string) bool { return answers(ctx, k.Name, addr) })
	if err != nil {
		return nil, err
	}
	defer server.Close()
	return r.table(ctx, k.Name, server, append([]side{r.ours(k.Name)}, peers...)), nil
}

// etcd is one member, in a process of its own.
func etcd() servers.Kind {
	return servers.Kind{
		Name: "etcd",
		Command: func(dir, addr string, _ *bytes.Buffer) (*exec.Cmd, error) {
			return helper.Command("etcd", dir, addr)
		},
	}
}

// url is the address of the locks in an engine.
func url(engine, addr string, ttl time.Duration) string {
	rest := addr + "/bench"
	if engine == "postgres" {
		rest = "postgres@" + addr + "/postgres"
	}
	return fmt.Sprintf("%s://%s?ttl=%v", engine, rest, ttl)
}

// open makes a client of ours.
func open(url string) (cluster.Backend, cluster.Options, error) {
	target, err := cluster.ParseURL(url, cluster.Sources{})
	if err != nil {
		return nil, cluster.Options{}, err
	}
	o, err := target.Options()
	if err != nil {
		return nil, o, err
	}
	b, err := agent.Engine(target)
	return b, o, err
}

// answers says whether a server gives leases.
func answers(ctx context.Context, engine, addr string) bool {
	b, _, err := open(url(engine, addr, 5*time.Second))
	if err != nil {
		return false
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	s, err := b.Grant(ctx, 5*time.Second)
	return err == nil && s.Revoke(ctx) == nil
}
