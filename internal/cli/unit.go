package cli

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/service"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unitFlags are those of the verbs of `unit`, beside those of the run or watch
// that is defined.
type unitFlags struct {
	kind service.Kind
	run  *runFlags

	unit, as, binary, to       string
	session, notify            bool
	install, uninstall, noSkip bool
	every                      seconds
}

func (a *app) unitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unit",
		Short: "Make the definition of a service for systemd, launchd or Windows",
		Long: `Make the definition of a service for systemd, launchd or Windows.

It is printed; --install writes it where its manager looks for it, and --uninstall
removes it. Nothing is started or stopped, and nothing is written over. Each
setting that is not obvious has its reason in the line above it.`,
		Example: `  solehold unit systemd /var/lib/kb --health-http http://127.0.0.1:8080/healthz -- kb --addr :8080
  solehold unit timer /var/lib/kb --unit kb.service --health-http http://127.0.0.1:8080/healthz
  solehold unit check /etc/systemd/system/kb.service`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.unitVerb(service.Systemd, "Make a service of systemd"),
		a.unitVerb(service.Timer, "Make a watch of a systemd service, as a timer"),
		a.unitVerb(service.Launchd, "Make a job of launchd (macOS)"),
		a.unitVerb(service.Task, "Make a task of the Windows Task Scheduler"),
		a.unitVerb(service.WinSvc, "Make the commands that register a Windows service"),
		a.unitCheck(),
	)
	return cmd
}

func (a *app) unitVerb(kind service.Kind, short string) *cobra.Command {
	f := &unitFlags{kind: kind, run: newRunFlags()}
	cmd := &cobra.Command{
		Use: string(kind) + " DIR [flags] -- COMMAND [ARG...]", Short: short,
		Long:    short + ". It takes the flags of solehold run, and of a watch where it is one.",
		Example: "  solehold unit " + string(kind) + " /srv/kb/data --health-http http://127.0.0.1:8080/healthz -- kb --addr :8080",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.unit(cmd, f, args) },
	}
	fl := cmd.Flags()
	switch kind {
	case service.Timer:
		cmd.Use = "timer DIR --unit NAME --health-… [flags]"
		cmd.Example = "  solehold unit timer /srv/kb/data --unit kb.service --health-http http://127.0.0.1:8080/healthz"
		f.run.onUnhealthy.value = "report"
		f.run.registerWatch(fl)
		f.every = seconds(5 * time.Minute)
		fl.Var(&f.every, "every", "time from the end of one look to the next")
	case service.Launchd, service.Task:
		fl.Var(&f.every, "every", "make a watch that looks this often, in place of the service, e.g. 5m")
		fl.Lookup("every").DefValue = ""
		f.run.registerRun(cmd)
	default:
		f.run.registerRun(cmd)
	}
	f.register(cmd)
	cmd.Long += codesHelp("", unitCodes())
	return cmd
}

func (f *unitFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.unit, "unit", "", "the name of the service (default: that of the command)")
	fl.StringVar(&f.as, "as", "", "the user it runs as")
	fl.StringVar(&f.binary, "solehold", "", "where solehold lies on the machine it is for (default: this one)")
	fl.StringVar(&f.to, "to", "", "write into this directory (default: where the manager looks)")
	fl.BoolVar(&f.session, "session", false, "for the manager of this user, not of the machine")
	fl.BoolVar(&f.install, "install", false, "write it; refused where a different one is there")
	fl.BoolVar(&f.uninstall, "uninstall", false, "remove what --install has written")
	fl.BoolVar(&f.notify, "notify", false, "the command itself says READY=1 (sd_notify)")
	fl.BoolVar(&f.noSkip, "no-skip", false, "no ExecCondition=: a start beside an owner fails in place of being skipped")
	if f.kind != service.Systemd {
		fl.MarkHidden("notify")
		fl.MarkHidden("no-skip")
	}
	for _, ours := range append(once(), "no-mirror") { // for a person, not for a manager
		if fl.Lookup(ours) != nil {
			fl.MarkHidden(ours)
		}
	}
}

// once are flags of run that are meant for one start: at each one they would take
// a guard away.
func once() []string { return []string{"retry", "without-cluster"} }

func (a *app) unit(cmd *cobra.Command, f *unitFlags, args []string) error {
	if err := f.checkArgs(cmd, args); err != nil {
		return err
	}
	job, err := a.job(cmd, f, args)
	if err != nil {
		return usage(cmd, "%v", err)
	}
	files, err := job.Files(f.kind)
	if err != nil {
		return usage(cmd, "%v", err)
	}
	switch {
	case f.install:
		return a.installUnit(f, job, files)
	case f.uninstall:
		return a.uninstallUnit(f, job, files)
	}
	return a.printUnit(files)
}

func (f *unitFlags) checkArgs(cmd *cobra.Command, args []string) error {
	for _, name := range once() {
		if cmd.Flags().Changed(name) {
			return usage(cmd, "--%s is for one start by hand: a definition would say it at each", name)
		}
	}
	dash := cmd.ArgsLenAtDash()
	switch {
	case f.install && f.uninstall:
		return usage(cmd, "--install and --uninstall: say one of them")
	case len(args) == 0 || dash == 0:
		return usage(cmd, "which directory? solehold unit %s DIR", f.kind)
	case f.kind == service.Timer && len(args) > 1:
		return usage(cmd, "a timer starts a unit, so that what it starts outlives it: make that with solehold unit systemd, and name it with --unit")
	case f.kind == service.Timer && f.unit == "":
		return usage(cmd, "which unit does it watch? say --unit NAME")
	case f.kind == service.Timer, f.uninstall && f.unit != "" && len(args) == 1:
		return nil // the name is enough
	case dash < 0 && len(args) > 1:
		return usage(cmd, "put -- between the directory and the command: solehold unit %s %s -- %s", f.kind, args[0], strings.Join(args[1:], " "))
	case dash != 1 || len(args) == 1:
		return usage(cmd, "no command given: solehold unit %s DIR -- COMMAND", f.kind)
	case f.run.heldExit < 0 || f.run.heldExit > 255:
		return usage(cmd, "--held-exit %d is not an exit code (0 to 255)", f.run.heldExit)
	}
	return nil
}

// onWindows says whether the definition is for Windows, whose paths this machine
// may not know.
func (f *unitFlags) onWindows() bool { return f.kind == service.Task || f.kind == service.WinSvc }

// path gives a path that does not depend on where a process works, on the
// machine that it is for.
func (f *unitFlags) path(given string) string {
	if f.onWindows() && regexp.MustCompile(`^[A-Za-z]:[\\/]|^\\\\`).MatchString(given) {
		return given
	}
	return absolute(given)
}

// program finds a command as the manager will.
func (a *app) program(f *unitFlags, given string) string {
	if f.onWindows() || given == "" {
		return given
	}
	path, err := exec.LookPath(given)
	if err != nil && !strings.Contains(given, "/") {
		a.say("warning: %s is no program here", given)
		return given
	}
	if err != nil {
		return absolute(given)
	}
	return absolute(path)
}

// job puts together what the manager is to do.
func (a *app) job(cmd *cobra.Command, f *unitFlags, args []string) (service.Job, error) {
	c := a.config(f.run, append(args[:1:1], "solehold"))
	c.Command = args[1:]
	if err := f.run.fill(&c, cmd.Flags()); err != nil {
		return service.Job{}, err
	}
	j := service.Job{
		Name: strings.TrimSuffix(f.unit, ".service"), Dir: f.path(args[0]), User: f.as, Session: f.session,
		Probed: c.Health != nil, Ready: f.notify || c.Health != nil || c.Startup != nil, Becomes: f.run.exec,
		Creates: f.run.create, Restarts: f.run.restart.value != "no", HeldExit: f.run.heldExit, Grace: c.Grace, Every: time.Duration(f.every),
	}
	if j.Name == "" {
		name := baseName(args[1])
		if f.onWindows() {
			name = name[strings.LastIndex(name, `\`)+1:]
		}
		j.Name = strings.TrimSuffix(name, ".exe")
	}
	if f.run.state != "" {
		j.State = f.path(f.run.state)
	}
	home, err := os.UserHomeDir()
	if j.Home = home; err != nil && f.session {
		return j, err
	}
	self := f.binary
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return j, err
		}
	}
	if j.Every > 0 && !f.uninstall {
		if name := notOfWatch(cmd.Flags()); name != "" {
			return j, fmt.Errorf("--%s is for run: a watch does not pass it on", name)
		}
		if err := f.run.watchable(&c); err != nil {
			return j, err
		}
	}
	a.commands(cmd, f, &j, append([]string{self}, args...))
	return j, nil
}

// notOfWatch names a given flag of run that a watch does not have. Left out it
// would be missed: a run without its cluster has half a lock.
func notOfWatch(given *pflag.FlagSet) (name string) {
	run, watch := &cobra.Command{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	newRunFlags().registerRun(run)
	newRunFlags().registerWatch(watch)
	given.Visit(func(flag *pflag.Flag) {
		if run.Flags().Lookup(flag.Name) != nil && watch.Lookup(flag.Name) == nil {
			name = flag.Name
		}
	})
	return name
}

// commands writes the command lines: all is solehold, the directory and the
// command.
func (a *app) commands(cmd *cobra.Command, f *unitFlags, j *service.Job, all []string) {
	given, self := cmd.Flags(), all[0]
	var command []string
	if len(all) > 2 {
		command = append([]string{"--", a.program(f, all[2])}, all[3:]...)
	}
	if j.Every > 0 {
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		newRunFlags().registerWatch(own)
		j.Command = append([]string{self, "watch", "--once"}, words(given, own, f.path)...)
		if f.kind == service.Timer {
			j.Command = append(j.Command, "--unit="+j.Name+".service")
		}
		j.Command = append(append(j.Command, j.Dir), command...)
		return
	}
	own := &cobra.Command{}
	newRunFlags().registerRun(own)
	j.Command = []string{self, "run"}
	if f.kind == service.Systemd {
		j.Command = append(j.Command, f.systemdWords(given, j)...)
	}
	j.Command = append(append(j.Command, words(given, own.Flags(), f.path)...), j.Dir)
	j.Command = append(j.Command, command...)
	if f.kind == service.Systemd && !f.noSkip && !f.run.create {
		j.Status = []string{self, "status", "--free"}
		if j.State != "" {
			j.Status = append(j.Status, "--state="+j.State)
		}
		j.Status = append(j.Status, j.Dir)
	}
}

// systemdWords are flags that a run below systemd should have where nobody has
// said otherwise.
func (f *unitFlags) systemdWords(given *pflag.FlagSet, j *service.Job) []string {
	var more []string
	if !given.Changed("held-exit") {
		j.HeldExit = exitHeld
		more = append(more, fmt.Sprintf("--held-exit=%d", exitHeld))
	}
	if j.Probed && !given.Changed("on-unhealthy") {
		more = append(more, "--on-unhealthy=report") // one starts it again, and that is systemd
	}
	return more
}

func (a *app) printUnit(files []service.File) error {
	for _, f := range files {
		switch {
		case a.json:
			a.printJSON(a.env.Stdout, map[string]string{"name": f.Name, "text": f.Text})
			continue
		case len(files) > 1:
			fmt.Fprintf(a.env.Stdout, "# --- %s\n", f.Name)
		}
		text := f.Bytes()
		if a.toTerminal() {
			text = []byte(printableLines(f.Text))
		}
		if _, err := a.env.Stdout.Write(text); err != nil {
			return err
		}
	}
	return nil
}
