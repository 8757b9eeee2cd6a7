package cli

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/journald"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/spf13/cobra"
)

// runFlags are the flags of `run`.
type runFlags struct {
	create, strict, exec, asCode bool
	name, state                  string
	noCluster                    bool
	cluster, clusterName         string
	clusterAgent                 string
	wait                         patience
	grace, timeout               seconds
	hold, orphans, clusterDown   choice
	stopSignal                   signalFlag
	heldExit, startedFD          int

	*healthFlags
}

func (a *app) runCommand() *cobra.Command {
	f := newRunFlags()
	cmd := &cobra.Command{
		Use:   "run DIR [flags] -- COMMAND [ARG...]",
		Short: "Run a command as the one owner of a data directory",
		Long: `Run a command as the one owner of a data directory.

If the directory already has its owner, one line says who that is and the
command is not started: the wanted state, one live instance, already holds.
Otherwise the command runs, and when it ends, however it ends, the directory is
free again. All processes that the command starts count as the owner: they keep
the directory if this wrapper dies, and are stopped when the command ends.`,
		Example: `  solehold run ./data -- redis-server --dir ./data
  solehold run --wait 30s /srv/kb/data -- kb --addr :8080     wait for the owner to leave
  solehold run --held-exit 75 /srv/kb/data -- kb              tell a held directory by its exit code
  solehold run --state /var/lib/pg-lock /var/lib/pg -- postgres -D /var/lib/pg`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, f, args) },
	}
	cmd.Long += healthHelp + codesHelp("the command's own code, or its death by the same signal", runCodes())
	f.registerRun(cmd)
	return cmd
}

func (f *runFlags) registerRun(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.registerLock(fl)
	f.registerHealth(fl)
	fl.BoolVar(&f.exec, "exec", false, "take the lock and become the command: no wrapper stays")
	fl.BoolVar(&f.asCode, "no-mirror", false, "exit with 128+n where signal n killed the command, instead of dying by it")
	fl.Var(&f.wait, "wait", "wait this long for the owner to leave; 'forever' for no limit (default: do not wait)")
	fl.Lookup("wait").DefValue = "" // its text says it
	fl.IntVar(&f.heldExit, "held-exit", 0, "exit code when the directory already has its owner; 75 fits supervisors")
	fl.StringVar(&f.cluster, "cluster", "", "take the lock of a cluster too: etcd://HOST:PORT,.../PREFIX?ttl=15s")
	fl.BoolVar(&f.noCluster, "without-cluster", false, "run without the lock of the cluster where earlier runs had it, this once")
	fl.StringVar(&f.clusterName, "cluster-name", "", "the lock's name in the cluster, the same on every machine (default: --name)")
	fl.Var(&f.clusterDown, "cluster-down", "while the engine is away: stop in time; sticky goes on, by a claim that only an operator's break ends")
	fl.StringVar(&f.clusterAgent, "cluster-agent", os.Getenv(clusterAgentVar), "use the agent of this host that listens there (default: $"+clusterAgentVar+", else one of its own)")
	fl.Lookup("cluster-agent").DefValue = "" // its text says it
	fl.Lookup("timeout").Usage = "how long the file system, or the engine of the cluster, may take to answer"
	fl.IntVar(&f.startedFD, "started-fd", 0, "tell on this descriptor how the start went")
	fl.MarkHidden("started-fd")
}

func (a *app) run(cmd *cobra.Command, f *runFlags, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash < 0 && len(args) > 1:
		return usage(cmd, "put -- between the directory and the command: solehold run %s -- %s", args[0], strings.Join(args[1:], " "))
	case dash < 0 || len(args) == dash:
		return usage(cmd, "no command given: solehold run DIR -- COMMAND")
	case dash != 1:
		return usage(cmd, "run takes exactly one directory before --, not %d", dash)
	case f.heldExit < 0 || f.heldExit > 255:
		return usage(cmd, "--held-exit %d is not an exit code (0 to 255)", f.heldExit)
	}
	c := a.config(f, args)
	if err := f.fill(&c, cmd.Flags()); err != nil {
		return usage(cmd, "%v", err)
	}
	if err := a.inCluster(&c, f, cmd); err != nil {
		return err
	}
	if f.exec {
		return a.refused(located(cmd.Context(), c.Dir, &c.Options, supervise.Exec(cmd.Context(), c)), f)
	}
	end, err := supervise.Run(cmd.Context(), c)
	switch {
	case err != nil:
		return a.refused(located(cmd.Context(), c.Dir, &c.Options, err), f)
	case end.Lost != nil:
		a.code = exitLost
	case end.GaveUp:
		a.code = exitGaveUp
	default:
		a.code = supervise.Mirror(end, f.asCode)
	}
	return nil
}

func (a *app) config(f *runFlags, args []string) supervise.Config {
	o := solehold.Options{
		Name: f.name, Wait: time.Duration(f.wait.seconds), Create: f.create, Strict: f.strict, StateDir: f.state, Timeout: time.Duration(f.timeout),
		OnWait: func(held *solehold.HeldError) {
			limit := "without limit"
			if f.wait.seconds > 0 {
				limit = "for at most " + f.wait.String()
			}
			a.say("waiting %s: %v", limit, held)
		},
		OnWarning: func(err error) { a.say("warning: %v", err) }, OnEvent: tellJournal,
	}
	if o.Name == "" {
		o.Name = baseName(args[1])
	}
	return supervise.Config{
		Dir: args[0], Command: args[1:], Options: o, Hold: supervise.Hold(f.hold.value), Orphans: supervise.Orphans(f.orphans.value),
		Grace: time.Duration(f.grace), StopSignal: f.stopSignal.signal, Started: f.startedFD, Say: a.say,
	}
}

// refused prints the one line of a directory that has its owner, and passes
// every other error on.
func (a *app) refused(err error, f *runFlags) error {
	var held *solehold.HeldError
	var elsewhere *supervise.ClusterHeldError
	if errors.As(err, &elsewhere) {
		a.refusedByCluster(elsewhere, f)
		return nil
	}
	if !errors.As(err, &held) {
		return err
	}
	a.code = f.heldExit
	if held.Holder().Leftover && a.code == 0 {
		a.code = exitHeld // not what was wanted: nobody may be serving
	}
	if a.json {
		answer := map[string]any{"held": held.Path, "owner": held.Holder(), "exit": a.code}
		if held.Waited > 0 {
			answer["waited"] = held.Waited.Seconds()
		}
		a.printJSON(a.env.Stderr, answer)
		return nil
	}
	a.say("%v%s", held, afterRefusal(held))
	return nil
}

func afterRefusal(held *solehold.HeldError) string {
	switch {
	case held.Holder().Leftover:
		return ". It is what the command of an earlier run left, which has ended: stop it, or run with --orphans=stop."
	case held.Holder().WrapperGone:
		return ". It is what an earlier run left: stop it, or run with --orphans=stop."
	case held.Waited > 0:
		return ". Nothing was started."
	case !held.Holder().Visible():
		return "."
	}
	return ". Nothing to do."
}

// tellJournal sends an event to systemd's journal. Where that is not there or does
// not take it, the history file has it, and solehold history says so.
func tellJournal(dir string, e solehold.Event) { journald.Send(journald.Socket, dir, e) }
