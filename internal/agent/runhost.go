package agent

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/sdnotify"
	"github.com/solehold/solehold/internal/supervise"
)

// Place is what the agent of a host is told on its command line.
type Place struct {
	// Socket is the path at which it listens.
	Socket string
	// Group may connect too; "" is for its own user alone. Only root can serve others.
	Group string
	// URLs are the engines that runs may name.
	URLs []string
}

// RunHost is the agent of a host until the last of its runs has ended after a signal. An error is that it has not begun.
func RunHost(ctx context.Context, p Place, signals <-chan os.Signal) error {
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "solehold-cluster: "+format+"\n", args...) }
	h, err := NewHost(HostOptions{
		Options: Options{Sources: cluster.Sources{Env: os.Getenv, ReadFile: os.ReadFile}},
		URLs:    p.URLs, UID: uint32(os.Geteuid()), Say: say,
		Guard: func(p Peer, dir, state string) (Guard, error) { return p.(*supervise.AgentPeer).NewGuard(dir, state) },
	})
	if err != nil {
		return err
	}
	gid, err := p.gid()
	if err != nil {
		return err
	}
	l, err := supervise.ListenAgent(p.Socket, gid)
	if err != nil {
		return err
	}
	go func() {
		for range signals {
			h.End()
			l.Close()
		}
	}()
	if up, err := sdnotify.Dial(os.Getenv(sdnotify.SocketVar)); err == nil {
		up.Say("READY=1")
		up.Close()
	}
	h.Serve(ctx, func() (Peer, error) { return l.Accept() })
	return nil
}

// gid is that of the group; -1 is for none.
func (p Place) gid() (int, error) {
	if p.Group == "" {
		return -1, nil
	}
	if os.Geteuid() != 0 {
		return -1, fmt.Errorf("%w: only an agent that is root could stop what others run: leave --group out", cluster.ErrURL)
	}
	g, err := user.LookupGroup(p.Group)
	if err != nil {
		return -1, fmt.Errorf("%w: --group: %w", cluster.ErrURL, err)
	}
	return strconv.Atoi(g.Gid)
}
