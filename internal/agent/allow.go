package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/solehold/solehold/cluster"
)

// allowed are the engines that runs may name, by where they are. Each is used as the agent's own URL says.
type allowed map[string]cluster.Target

// allow reads the agent's URLs, and tries what can be tried without their engines.
func allow(urls []string, o Options) (allowed, error) {
	all := allowed{}
	for _, url := range urls {
		t, err := cluster.ParseURL(url, o.Sources)
		if err != nil {
			return nil, err
		}
		if _, err := t.Options(); err != nil {
			return nil, err
		}
		if _, twice := all[place(t)]; twice {
			return nil, fmt.Errorf("%w: %s is there twice", cluster.ErrURL, t)
		}
		b, err := o.Open(t)
		if err != nil {
			return nil, err
		}
		b.Close()
		all[place(t)] = t
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: which engines may runs name? --cluster URL", cluster.ErrURL)
	}
	return all, nil
}

// place is where an engine is, however its servers are ordered.
func place(t cluster.Target) string {
	t.Hosts = slices.Sorted(slices.Values(t.Hosts))
	return strings.ToLower(t.String())
}

// choose gives the agent's own target for the URL of a run. That names the engine and may repeat what is the same here;
// it can neither bring credentials and files, nor mean another lock than the agent takes.
func (all allowed) choose(url string) (cluster.Target, error) {
	asked, err := cluster.ParseURL(url, cluster.Sources{})
	if err != nil {
		return asked, err
	}
	if asked.User+asked.CAFile+asked.CertFile+asked.KeyFile != "" {
		return asked, fmt.Errorf("%w: the agent of this host has the credentials: leave user and files out", cluster.ErrURL)
	}
	t, ok := all[place(asked)]
	if !ok {
		return asked, fmt.Errorf("%w: the agent of this host is not for %s", cluster.ErrURL, asked)
	}
	return t, same(asked, t)
}

// elsewhere are the parameters that name another set of locks, with what none says.
func elsewhere() map[string]string {
	return map[string]string{"db": "0", "schema": "solehold", "master": "", "cluster": "0"}
}

// same refuses what a run says otherwise than the agent.
func same(asked, t cluster.Target) error {
	for key, none := range elsewhere() {
		if want, got := cmp.Or(asked.Params.Get(key), none), cmp.Or(t.Params.Get(key), none); want != got {
			return differs(key, want, got)
		}
	}
	for key := range asked.Params {
		if want, got := asked.Params.Get(key), t.Params.Get(key); want != got {
			return differs(key, want, got)
		}
	}
	ttl, own := cmp.Or(asked.TTL, cluster.DefaultTTL), cmp.Or(t.TTL, cluster.DefaultTTL)
	switch {
	case ttl != own:
		return differs("ttl", ttl, own)
	case asked.Delay != 0 && asked.Delay != t.Delay:
		return differs("delay", asked.Delay, t.Delay)
	case asked.TLS && !t.TLS:
		return differs("tls", 1, 0)
	}
	return nil
}

func differs(key string, run, agent any) error {
	return fmt.Errorf("%w: the run says %s=%.40v, and the agent of this host %s=%.40v: say the same", cluster.ErrURL, key, run, key, agent)
}
