package clustercli

import (
	"github.com/spf13/cobra"
)

// Host is what the agent of a host is told.
type Host struct {
	// Socket is the path at which it listens.
	Socket string
	// Group may connect too; "" is for the agent's own user alone.
	Group string
	// URLs are the engines that runs may name.
	URLs []string
}

func (a *app) agentCommand() *cobra.Command {
	var h Host
	cmd := &cobra.Command{
		Use:   "agent --listen PATH --cluster URL [--cluster URL]... [--group NAME]",
		Short: "Keep the locks of all runs of this host, with one lease for each engine",
		Long: `Keep the locks of all runs of this host, with one lease for each engine.

Runs use it with solehold run --cluster URL --cluster-agent PATH; without that
flag each has an agent of its own. A run may name only an engine that is given
here, by its hosts and prefix; credentials, certificates and times are those of
this command line.

Its own user may connect, and as root also the members of a group. What a run
has started is stopped as far as the user of that run may do it. When this agent
ends or hangs, each run stops its command in time. SIGTERM lets it serve no new
runs and end with the last one; a second one tells them to stop.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return usagef("agent takes no arguments: agent --listen PATH --cluster URL")
			case h.Socket == "":
				return usagef("where does it listen? --listen PATH")
			}
			return a.env.Agent(cmd.Context(), h)
		},
	}
	cmd.Flags().StringVar(&h.Socket, "listen", "", "the path of its socket, such as /run/solehold/agent.sock")
	cmd.Flags().StringVar(&h.Group, "group", "", "who may connect besides root")
	cmd.Flags().StringArrayVar(&h.URLs, "cluster", nil, "an engine that runs may name: etcd://HOST:PORT,.../PREFIX")
	return cmd
}
