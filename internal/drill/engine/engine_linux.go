package engine

import (
	"fmt"
	"io"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// tick and election, in milliseconds, are short, so that leases of a few seconds are granted.
const (
	tick     = 60
	election = 600
)

func serve(dir, address string, ready io.Writer) error {
	client, peer := url.URL{Scheme: "http", Host: address}, url.URL{Scheme: "http", Host: "127.0.0.1:0"} // nobody else is a peer
	c := embed.NewConfig()
	c.Name, c.Dir, c.Logger = "drill", dir, "zap"
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster, c.TickMs, c.ElectionMs = "drill="+peer.String(), tick, election
	c.UnsafeNoFsync = true
	e, err := embed.StartEtcd(c)
	if err != nil {
		return fmt.Errorf("etcd at %s: %w", address, err)
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
		fmt.Fprintln(ready, "ready")
	case <-e.Server.StopNotify():
	}
	return fmt.Errorf("etcd at %s has ended: %w", address, <-e.Err())
}
