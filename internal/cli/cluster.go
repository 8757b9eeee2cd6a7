package cli

import (
	"errors"
	"os"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/spf13/cobra"
)

// clusterProgram is the companion that has the clients of the engines.
const clusterProgram = "solehold-cluster"

// clusterAgentVar names the socket of the agent of this host.
const clusterAgentVar = "SOLEHOLD_CLUSTER_AGENT"

var errNoCluster error = &supervise.ClusterError{Fault: wire.Missing, Text: "there is no program " + clusterProgram + " beside this one, and none on PATH"}

// inCluster adds the lock of a cluster to a run. All that can be seen to be wrong is
// refused before anything is taken.
func (a *app) inCluster(c *supervise.Config, f *runFlags, cmd *cobra.Command) error {
	if c.WithoutCluster = f.noCluster; f.cluster == "" {
		if f.clusterName != "" || cmd.Flags().Changed("cluster-down") {
			return usage(cmd, "--cluster-name and --cluster-down are for runs with --cluster")
		}
		if cmd.Flags().Changed("cluster-agent") {
			return usage(cmd, "--cluster-agent is for runs with --cluster")
		}
		return nil
	}
	name := f.clusterName
	if name == "" {
		name = f.name
	}
	switch {
	case f.noCluster:
		return usage(cmd, "--cluster and --without-cluster: say one of them")
	case name == "":
		return usage(cmd, "how is the lock called on every machine? Give --cluster-name NAME, or --name")
	case f.exec:
		return usage(cmd, "--exec leaves nobody who could stop the command when the lock of the cluster is lost: run without it")
	case c.Hold == supervise.HoldNone:
		return usage(cmd, "--cluster needs --hold=tree: by it the end of the tree is seen when the wrapper dies")
	}
	if err := cluster.CheckName(name); err != nil {
		return usage(cmd, "%v", err)
	}
	target, err := cluster.ParseURL(f.cluster, cluster.Sources{ReadFile: os.ReadFile})
	if err != nil {
		return usage(cmd, "--cluster: %v", err)
	}
	if err := fitGrace(c, target, cmd); err != nil {
		return err
	}
	c.Cluster = &supervise.Cluster{
		URL: f.cluster, Name: name, Secrets: []string{cluster.PasswordVariable},
		Sticky: f.clusterDown.value == downSticky, Place: target.Engine + " " + target.Prefix,
	}
	switch {
	case c.Cluster.Sticky && cmd.Flags().Changed("cluster-agent"):
		return usage(cmd, "a sticky claim is kept by an agent of its own: leave out --cluster-agent")
	case !c.Cluster.Sticky && f.clusterAgent != "":
		c.Cluster.Socket = absolute(f.clusterAgent)
		return nil
	}
	var ok bool
	if c.Cluster.Agent, ok = findCompanion(clusterProgram); !ok {
		return errNoCluster
	}
	return nil
}

// fitGrace refuses a grace period that does not fit between being told and being
// killed, with the sum. Nobody's choice is made to fit.
func fitGrace(c *supervise.Config, target cluster.Target, cmd *cobra.Command) error {
	if cmd.Flags().Changed("grace") {
		target.Grace = c.Grace
	}
	o, err := target.Options()
	if err != nil {
		return usage(cmd, "%v", err)
	}
	const part = 5 // told at 0.60 of the time to live, killed at 0.80
	if c.Grace = o.Grace; c.Grace == 0 && !cmd.Flags().Changed("grace") {
		c.Grace = o.TTL / part
	}
	return nil
}

// refusedByCluster prints the one line of a lock that another machine has.
func (a *app) refusedByCluster(held *supervise.ClusterHeldError, f *runFlags) {
	a.code = f.heldExit
	if a.json {
		a.printJSON(a.env.Stderr, map[string]any{"held": held.Name, "owner": held.Info, "token": held.Token, "since": held.Since, "exit": a.code})
		return
	}
	next := ". Nothing to do."
	switch {
	case held.Since != "":
		next = ". Nothing was started."
	case f.wait.seconds != 0:
		next = ". Nothing was started within " + f.wait.String() + "."
	}
	a.say("%v%s", held, next)
}

// codeOfCluster returns the exit code of an error of the cluster.
func codeOfCluster(err error) (code int, ok bool) {
	var failed *supervise.ClusterError
	var lost *supervise.ClusterLostError
	var without *supervise.NoClusterError
	switch {
	case errors.As(err, &lost):
		return exitLost, true
	case errors.As(err, &without):
		return exitRefused, true
	case !errors.As(err, &failed):
		return 0, false
	}
	switch failed.Fault {
	case wire.Usage:
		return exitUsage, true
	case wire.Unsafe, wire.Behind, wire.Kept, wire.Denied:
		return exitRefused, true
	case wire.Missing:
		return exitCreate, true
	}
	return exitLockIO, true
}

// clusterStep says what a person can do about it.
func clusterStep(err error) string {
	var failed *supervise.ClusterError
	var without *supervise.NoClusterError
	switch {
	case errors.As(err, &without):
		return "run with --cluster URL; if surely no other machine has that lock, --without-cluster runs once without"
	case !errors.As(err, &failed):
		return ""
	}
	switch failed.Fault {
	case wire.Usage:
		return "see docs/cluster.md for the parts of the URL"
	case wire.Behind:
		return "find out which engine is the right one; if this one was restored or replaced for good: solehold cluster raise --cluster URL NAME --above N"
	case wire.Kept:
		return "see docs/cluster.md, \"Claims that outlive the engine\", before anything is broken"
	case wire.Unsafe:
		return "find out which engine is the right one before anything is started"
	case wire.Denied:
		return "see docs/cluster.md for whom the agent of a host serves; without --cluster-agent each run has its own"
	case wire.Missing:
		return "install " + clusterProgram + " beside solehold"
	}
	return "check that the engine answers from here; the directory was given back"
}
