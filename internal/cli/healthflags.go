package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/spf13/pflag"
)

// healthFlags are the flags of `run` and `watch` about health and what follows
// from it.
type healthFlags struct {
	health, startup  *probeFlags
	onUnhealthy      choice
	minFailing       seconds
	restartMax       int
	delay, delayMost seconds
	restart          choice
	unhealthySignal  signalFlag
	output           choice
	retry            bool

	reloadFile, reloadCheck string
	reloadLock, reloadSum   string
	reloadSignal            signalFlag
}

func newHealthFlags() *healthFlags {
	return &healthFlags{
		health: newProbeFlags("health"), startup: newProbeFlags("startup"),
		onUnhealthy:  choice{"restart", []string{"restart", "report"}},
		reloadSignal: signalFlag{supervise.DefaultReloadSignal},
		restart:      choice{"no", []string{"no", "on-failure", "always"}},
		output:       choice{string(supervise.OutputAuto), []string{string(supervise.OutputAuto), string(supervise.OutputPass), string(supervise.OutputKeep)}},
		minFailing:   seconds(30 * time.Second), restartMax: 5, delay: seconds(time.Second), delayMost: seconds(5 * time.Minute),
	}
}

func (f *healthFlags) register(fl *pflag.FlagSet) {
	f.health.register(fl)
	f.startup.register(fl)
	fl.VisitAll(func(flag *pflag.Flag) {
		// The same again would bury the others; healthHelp tells of them.
		flag.Hidden = flag.Hidden || strings.HasPrefix(flag.Name, "startup-")
	})
	fl.Var(&f.onUnhealthy, "on-unhealthy", "what follows when it is alive and fails its probes; evidence is saved in both cases: restart or report")
	fl.Var(&f.minFailing, "min-failing", "how long the probes must have failed before anything is stopped")
	fl.IntVar(&f.restartMax, "restart-max", f.restartMax, "give up after this many restarts in a row; 0 for never")
	fl.Var(&f.delay, "restart-delay", "shortest delay before a restart; it grows with each failure; 0 for none")
	fl.Var(&f.delayMost, "restart-delay-max", "longest delay before a restart")
}

// healthHelp is the part of a help text about probes.
const healthHelp = `

With a probe (--health-…) the service is asked again and again. When it fails
often enough, evidence is saved first (see solehold incident), and then the
service is stopped and started again, or only reported (--on-unhealthy). An
answer that tells nothing about the service never counts. Every --health-… flag
has a --startup-… twin: that probe is asked first, until it is good once.`

// registerHealth adds what only `run` has.
func (f *healthFlags) registerHealth(fl *pflag.FlagSet) {
	f.register(fl)
	fl.Var(&f.restart, "restart", "start the command again when it has ended: no, on-failure or always")
	fl.Var(&f.unhealthySignal, "unhealthy-signal", "the signal that asks an unhealthy command to end, e.g. QUIT for the stacks of a Go or Java program (default: the stop signal)")
	fl.Var(&f.output, "output", "how the command's output is passed on: keep its end for evidence, pass our descriptors, or auto")
	fl.BoolVar(&f.retry, "retry", false, "forget earlier failures and a give-up")
	fl.StringVar(&f.reloadFile, "reload", "", "tell the command by a signal when this file has new content")
	fl.Var(&f.reloadSignal, "reload-signal", "that signal; it is not sent as long as the command does not handle it")
	fl.StringVar(&f.reloadCheck, "reload-check", "", "shell command that gets new content as its input; unless it ends with 0 the command is not told")
	fl.StringVar(&f.reloadSum, "reload-sum", "", "`file` that begins with the SHA-256 of the content, as sha256sum writes it; what does not fit is corrupt, and not told")
	fl.StringVar(&f.reloadLock, "reload-lock", "", "`file` that the writer makes before it writes and removes when it is done: nothing is told while it is there")
	fl.Lookup("unhealthy-signal").DefValue = ""
}

// fill puts them into a configuration.
func (f *healthFlags) fill(c *supervise.Config, fl *pflag.FlagSet) (err error) {
	if c.Health, err = f.health.check(fl); err != nil {
		return err
	}
	if c.Startup, err = f.startup.check(fl); err != nil {
		return err
	}
	switch {
	case f.restartMax < 0:
		return fmt.Errorf("--restart-max must not be negative")
	case f.delayMost < f.delay:
		return fmt.Errorf("--restart-delay-max %s is shorter than --restart-delay %s", f.delayMost.String(), f.delay.String())
	}
	c.Policy = policy.Config{
		MinFailing: max(time.Duration(f.minFailing), time.Nanosecond), // 0 is the default to the machine
		RestartMax: f.restartMax, Backoff: policy.Backoff{Base: time.Duration(f.delay), Cap: time.Duration(f.delayMost)},
	}
	if f.onUnhealthy.value == "report" {
		c.Policy.OnUnhealthy = policy.UnhealthyReport
	}
	switch f.restart.value {
	case "on-failure":
		c.Policy.Restart = policy.RestartOnFailure
	case "always":
		c.Policy.Restart = policy.RestartAlways
	}
	if f.reloadFile == "" && f.reloadCheck+f.reloadSum+f.reloadLock != "" {
		return fmt.Errorf("--reload-check, --reload-sum and --reload-lock need --reload FILE")
	}
	if f.reloadFile != "" {
		c.Reload = &supervise.Reload{
			Path: f.reloadFile, Signal: f.reloadSignal.signal, Check: f.reloadCheck, LockFile: f.reloadLock, SumFile: f.reloadSum,
		}
	}
	c.UnhealthySignal, c.Output, c.Retry = f.unhealthySignal.signal, supervise.Output(f.output.value), f.retry
	_, err = policy.New(c.Judge(policy.Run), policy.Memory{}, 0)
	return err
}
