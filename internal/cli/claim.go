package cli

import (
	"github.com/solehold/solehold/internal/supervise"
	"github.com/spf13/cobra"
)

// clusterVerb is the word before the commands of the cluster's companion. One of
// them is ours, because it takes a directory.
const clusterVerb = "cluster"

// claims reports whether a command line is for that one.
func claims(args []string) bool { return len(args) > 1 && args[0] == clusterVerb && args[1] == "claim" }

func (a *app) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: clusterVerb, Short: "What an operator does with the locks of a cluster", Hidden: true}
	cmd.AddCommand(a.claimCommand())
	return cmd
}

func (a *app) claimCommand() *cobra.Command {
	f := newRunFlags()
	sticky := false
	cmd := &cobra.Command{
		Use:   "claim --sticky --cluster URL NAME DIR",
		Short: "Make a lock of the cluster sticky for this host and directory; starts nothing",
		Long: `Make a lock of the cluster sticky for this host and directory: a claim without
a lease, which nobody gets without an operator's break. Runs of this directory
with --cluster-down=sticky use it, also while the engine is away. Nothing is
started, and the directory is given back.
` + codesHelp("the lock is sticky for this directory", claimCodes()),
		Example: `  solehold cluster claim --sticky --cluster etcd://h1:2379,h2:2379/solehold kb /srv/kb/data`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 2:
				return usage(cmd, "which lock, and whose? claim --sticky --cluster URL NAME DIR")
			case !sticky:
				return usage(cmd, "claims with a lease end with their run: say --sticky")
			case f.cluster == "":
				return usage(cmd, "which engine? --cluster etcd://HOST:PORT,.../PREFIX")
			}
			f.clusterName, f.clusterDown.value = args[0], downSticky
			c := a.config(f, []string{args[1], args[0]})
			if err := a.inCluster(&c, f, cmd); err != nil {
				return err
			}
			if err := supervise.Claim(cmd.Context(), c); err != nil {
				return a.refused(located(cmd.Context(), c.Dir, &c.Options, err), f)
			}
			a.say("lock %q of the cluster is sticky for %s", args[0], c.Dir)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&sticky, "sticky", false, "a claim without a lease, the only kind that is made beforehand")
	fl.StringVar(&f.cluster, "cluster", "", "the engine: etcd://HOST:PORT,.../PREFIX?ttl=15s")
	fl.StringVar(&f.state, "state", "", "where solehold's files of the directory lie, as for run")
	fl.Var(&f.timeout, "timeout", "how long the file system, or the engine, may take to answer")
	fl.IntVar(&f.heldExit, "held-exit", exitHeld, "exit code when the directory or the lock already has its owner")
	return cmd
}

// The modes of --cluster-down.
const (
	downStop   = "stop"
	downSticky = "sticky"
)

func newClusterDown() choice { return choice{downStop, []string{downStop, downSticky}} }
