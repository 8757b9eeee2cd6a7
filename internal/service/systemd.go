package service

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

const (
	// stopMargin is how much longer than solehold systemd waits before it kills.
	stopMargin = 15 * time.Second
	// watchdog is how long systemd waits to hear that the service is well. A probe
	// that fails is asked at least twice before; the evidence is saved meanwhile.
	watchdog = 90 * time.Second
	// startLimit is how long a service may take until it is ready.
	startLimit = 10 * time.Minute
	// lookLimit is how long one look of a watch may take, evidence and start
	// included.
	lookLimit = 15 * time.Minute
)

// unit is the text of a unit file that is being written.
type unit struct{ strings.Builder }

func (u *unit) section(name string) { fmt.Fprintf(u, "\n[%s]\n", name) }

// set writes a setting, below its reason where it is not obvious.
func (u *unit) set(key, value, why string) {
	if why != "" {
		fmt.Fprintf(u, "# %s\n", why)
	}
	fmt.Fprintf(u, "%s=%s\n", key, value)
}

// paths writes a setting that takes paths. It is left out where a path has
// characters that no such setting can carry.
func (u *unit) paths(key, why string, paths ...string) {
	var words []string
	for _, p := range paths {
		if p == "" {
			continue
		}
		word, ok := systemdPath(p)
		if !ok {
			fmt.Fprintf(u, "# %s= is left out: it cannot name %q.\n", key, p)
			return
		}
		words = append(words, word)
	}
	u.set(key, strings.Join(words, " "), why)
}

func (j Job) systemd() ([]File, error) {
	start, err := systemdLine(j.Command)
	if err != nil {
		return nil, err
	}
	u := &unit{}
	fmt.Fprintf(u, "# %s systemd: %s\n", made, "systemctl enable --now "+j.Name+".service")
	u.section("Unit")
	u.set("Description", strings.ReplaceAll(j.description(), "%", "%%"), "")
	u.paths("RequiresMountsFor", "The disk must be mounted first: without it there is an empty directory, which has no owner.", j.Dir, j.State)
	u.set("StartLimitIntervalSec", "600", "Five starts in ten minutes that do not last are no accident: it stays down until somebody looks.")
	u.set("StartLimitBurst", "5", "")
	u.section("Service")
	j.readiness(u)
	if len(j.Status) > 0 {
		question, err := systemdLine(j.Status)
		if err != nil {
			return nil, err
		}
		u.set("ExecCondition", question, "Where somebody has the directory already the start is skipped and not failed. This only asks: the lock is taken below.")
	}
	u.set("ExecStart", start, "")
	j.ending(u)
	if err := j.place(u); err != nil {
		return nil, err
	}
	u.section("Install")
	u.set("WantedBy", j.target(), "")
	return []File{{Name: j.Name + ".service", Text: u.String()}}, nil
}

func (j Job) target() string {
	if j.Session {
		return "default.target"
	}
	return "multi-user.target"
}

// readiness says when the service counts as started, and as well.
func (j Job) readiness(u *unit) {
	if !j.Ready {
		u.set("Type", "exec", "Nobody says when it serves: with --health-… or --notify a start would wait for that.")
		return
	}
	u.set("Type", "notify", "Active means healthy: solehold passes on READY=1 of the command, or says it at the first good probe.")
	u.set("NotifyAccess", "main", "Only the main process is heard: solehold drops what the command may not say.")
	u.set("TimeoutStartSec", fmt.Sprint(seconds(startLimit)), "")
	if j.Probed {
		u.set("WatchdogSec", fmt.Sprint(seconds(watchdog)), "Solehold speaks to the watchdog only while the probes pass: a service that hangs is ended after its evidence is saved.")
		u.set("WatchdogSignal", "SIGTERM", "By this solehold stops the whole tree in order; SIGABRT would end it before its command.")
	}
}

// ending says how the service stops and when it is started again.
func (j Job) ending(u *unit) {
	u.set("KillMode", "mixed", "The stop signal is for the main process, which stops its tree; what is left after it is killed. Never process or none: they leave orphans.")
	u.set("TimeoutStopSec", fmt.Sprint(seconds(j.Grace+stopMargin)), "Longer than the --grace of solehold, which kills and writes that down before systemd does.")
	u.set("Restart", "on-failure", "")
	u.set("RestartSec", "2", "")
	prevent := fmt.Sprintf("%d 64 77 78", j.HeldExit)
	if j.Restarts {
		prevent += " 69"
	}
	u.set("RestartPreventExitStatus", prevent, fmt.Sprintf("No restart mends these: %d the directory has its owner, 64 wrong command line, 77 not permitted, 78 not safe (69 gave up).", j.HeldExit))
	u.set("SuccessExitStatus", fmt.Sprint(j.HeldExit), "To be turned away is not to fail: the wanted state, one live owner, holds.")
	if !j.Becomes {
		u.set("Delegate", "yes", "Solehold makes a group of its own for the command, by which the kernel kills all of it at once.")
	}
}

// place says as whom it runs and what it may touch.
func (j Job) place(u *unit) error {
	if j.User != "" {
		u.set("User", j.User, "")
	}
	u.set("NoNewPrivileges", "yes", "From here on: what a service does not need. Take out a line that is in the way of yours.")
	if j.Session {
		return nil // the rest is for root to give
	}
	written := j.Dir
	rel, ok := stateDirectory(j.Dir)
	switch {
	case j.Creates && ok:
		u.set("StateDirectory", rel, "Makes "+j.Dir+", and gives it to the user of the service with all that is in it.")
		u.set("StateDirectoryMode", "0700", "")
	case j.Creates:
		written = filepath.Dir(j.Dir) // where it is made
	}
	u.set("ProtectSystem", "strict", "Only the data can be written, so that a wrong path is an error and not a second copy elsewhere.")
	u.paths("ReadWritePaths", "", written, j.State)
	if below(j.Dir, "/tmp") || below(j.Dir, "/var/tmp") || below(j.State, "/tmp") || below(j.State, "/var/tmp") {
		u.set("PrivateTmp", "no", "The data lies there: with a /tmp of its own the service would lock another directory than everybody else.")
	} else {
		u.set("PrivateTmp", "yes", "")
	}
	for _, key := range []string{"ProtectKernelTunables", "ProtectKernelModules", "ProtectClock", "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality"} {
		u.set(key, "yes", "")
	}
	return nil
}

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// stateDirectory is the name by which systemd makes a directory, where it can.
func stateDirectory(dir string) (string, bool) {
	rel, ok := strings.CutPrefix(dir, "/var/lib/")
	return rel, ok && rel != "private" && !strings.HasPrefix(rel, "private/") && strings.Trim(rel, nameLetters+"/") == "" && filepath.Clean(dir) == dir
}

func (j Job) timer() ([]File, error) {
	look, err := systemdLine(j.Command)
	if err != nil {
		return nil, err
	}
	name := j.Name + "-watch"
	s := &unit{}
	fmt.Fprintf(s, "# %s timer: started by %s.timer\n", made, name)
	s.section("Unit")
	s.set("Description", strings.ReplaceAll(j.description(), "%", "%%"), "")
	s.paths("RequiresMountsFor", "", j.Dir, j.State)
	s.section("Service")
	s.set("Type", "oneshot", "One look, and what follows from it. The service itself is a unit: a child of this one would end with it.")
	s.set("ExecStart", look, "")
	s.set("TimeoutStartSec", fmt.Sprint(seconds(lookLimit)), "A look that hangs must not be the last one.")
	if j.User != "" {
		s.set("User", j.User, "")
	}
	t := &unit{}
	fmt.Fprintf(t, "# %s timer: systemctl enable --now %s.timer\n", made, name)
	t.section("Unit")
	t.set("Description", strings.ReplaceAll(j.description(), "%", "%%"), "")
	t.section("Timer")
	t.set("OnBootSec", "2min", "After a boot the unit has its chance first.")
	t.set("OnUnitInactiveSec", fmt.Sprint(seconds(j.Every)), "Counted from the end of the last look, so that two never overlap.")
	t.set("AccuracySec", "10s", "")
	t.section("Install")
	t.set("WantedBy", "timers.target", "")
	return []File{{Name: name + ".service", Text: s.String()}, {Name: name + ".timer", Text: t.String()}}, nil
}
