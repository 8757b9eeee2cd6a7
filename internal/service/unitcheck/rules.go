package unitcheck

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var errNotAUnit = errors.New("this is no unit file of systemd: it has no sections and settings")

// rule finds one kind of mistake.
type rule struct {
	id       string
	severity Severity
	find     func(*unit) []option
	why      string
	advice   string
}

// rules are in the order of their ids, which are never given anew.
func rules() []rule {
	return []rule{
		{
			"SU001", Danger, func(u *unit) []option { return u.is("Service", "KillMode", "process", "none") },
			"a stop ends the main process only; its children stay, and the next start runs beside them",
			"KillMode=mixed, or take the line out (control-group)",
		},
		{
			"SU002", Danger, forkingWithoutPIDFile,
			"systemd guesses which process is the main one; a wrong guess leaves the service running, and starts a second one",
			"run it in the foreground with Type=notify or exec; else name its PIDFile=",
		},
		{
			"SU003", Outage, restartAgainstHeld,
			"a start that is turned away because the data has its owner counts as ended, and is started again and again",
			"solehold run --held-exit 75 with RestartPreventExitStatus=75; for flock --conflict-exit-code likewise",
		},
		{
			"SU004", Danger, invented,
			"systemd has no such setting, ignores it, and keeps no second copy out",
			"solehold run DIR -- COMMAND in ExecStart=",
		},
		{
			"SU005", Danger, privateTmp,
			"with a /tmp of its own the service locks another file than everybody else: nobody is kept out",
			"PrivateTmp=no, or better: move the lock out of /tmp and /var/tmp",
		},
		{
			"SU006", Danger, lockBefore,
			"a lock that is taken before the start is gone when that command ends: nothing is held while the service runs",
			"take the lock in ExecStart=: solehold run DIR -- COMMAND",
		},
		{
			"SU007", Danger, func(u *unit) []option { return u.off("SendSIGKILL") },
			"what does not hear the stop signal stays for ever, and the next start is refused or runs beside it",
			"take the line out",
		},
		{
			"SU008", Danger, fileAsLock,
			"a file is no lock: it stays after a crash and then nothing starts, and two that look at the same time both start",
			"ExecCondition=solehold status --free DIR, and solehold run in ExecStart=",
		},
		{
			"SU009", Notice, limitInService,
			"StartLimitIntervalSec= is known in [Unit] only and ignored here: the limit is the default one",
			"move it to [Unit]",
		},
		{
			"SU010", Danger, background,
			"the service puts itself into the background: systemd sees its main process end, and ends or forgets the rest",
			"run it in the foreground, without &, nohup, setsid or a daemon switch",
		},
		{
			"SU011", Danger, shortStop,
			"systemd kills before solehold has stopped the tree of the command: no release is written",
			"TimeoutStopSec= longer than --grace (30s if it is not said), by 10s or more",
		},
		{
			"SU012", Danger, childOfOneshot,
			"what a oneshot starts ends with it, or, with another KillMode=, lives without a unit that could stop it",
			"let the watch start a unit: solehold watch --once --unit NAME.service DIR --health-…",
		},
		{
			"SU013", Notice, func(u *unit) []option { return u.is("Service", "KillSignal", "sigkill", "kill", "9") },
			"the service cannot release anything: the next start finds what a crash leaves",
			"take the line out; systemd kills after TimeoutStopSec= by itself",
		},
		{
			"SU014", Danger, killByName,
			"all processes of this name end, also those of another instance, and none if it was renamed",
			"take the line out: systemd stops what belongs to the unit",
		},
		{
			"SU015", Danger, oneForAllInstances,
			"every instance of this template works on the same data directory: only one of them can run",
			"a directory for each one, e.g. /var/lib/kb/%i",
		},
	}
}

func forkingWithoutPIDFile(u *unit) []option {
	if _, named := u.last("Service", "PIDFile"); named {
		return nil
	}
	return u.is("Service", "Type", "forking")
}

// starts are the commands that run while the service does.
func (u *unit) starts() []option { return u.all("Service", "ExecStart") }

// solehold finds the verb and the flags where a command is one of ours.
func (o option) solehold(verb string) (flags []string, ok bool) {
	words := o.command()
	if len(words) < 2 || words[0] != "solehold" || words[1] != verb {
		return nil, false
	}
	if dash := slices.Index(words, "--"); dash >= 0 {
		words = words[:dash]
	}
	return words[2:], true
}

// flag gives the value of --name=value or --name value.
func flag(words []string, name string) (string, bool) {
	for i, w := range words {
		if value, ok := strings.CutPrefix(w, name+"="); ok {
			return value, true
		}
		if w == name && i+1 < len(words) {
			return words[i+1], true
		}
	}
	return "", false
}

// restartAgainstHeld finds starts that are turned away with a code that leads to
// another start.
func restartAgainstHeld(u *unit) []option {
	restart, ok := u.last("Service", "Restart")
	if !ok || !slices.Contains([]string{"always", "on-failure", "on-success"}, restart.value) {
		return nil
	}
	prevented := u.codes("RestartPreventExitStatus")
	var bad []option
	for _, o := range u.starts() {
		if code, turnedAway := o.turnedAway(); turnedAway && u.again(restart.value, code) && !slices.Contains(prevented, code) {
			bad = append(bad, o)
		}
	}
	return bad
}

// codes lists the exit codes of a setting that takes several.
func (u *unit) codes(key string) (all []string) {
	for _, o := range u.all("Service", key) {
		all = append(all, strings.Fields(o.value)...)
	}
	return all
}

// again reports whether an exit code leads to another start.
func (u *unit) again(restart, code string) bool {
	// A notify service that ends before it was ready has failed with any code.
	failed := code != "0" && !slices.Contains(u.codes("SuccessExitStatus"), code) || len(u.is("Service", "Type", "notify", "notify-reload")) > 0
	return restart == "always" || failed == (restart == "on-failure")
}

// turnedAway is the exit code of a start beside an owner, where a command line
// shows that there can be one.
func (o option) turnedAway() (code string, ok bool) {
	if flags, ours := o.solehold("run"); ours {
		if _, waits := flag(flags, "--wait"); waits {
			return "", false
		}
		code, said := flag(flags, "--held-exit")
		if !said {
			code = "0"
		}
		return code, true
	}
	words := o.command()
	if len(words) == 0 || words[0] != "flock" {
		return "", false
	}
	code, ok = "1", false
	for i := 1; i < len(words); i++ {
		w := words[i]
		said, same := strings.CutPrefix(w, "--conflict-exit-code=")
		switch {
		case same:
			code = said
		case slices.Contains([]string{"-E", "--conflict-exit-code"}, w) && i+1 < len(words):
			i++
			code = words[i]
		case w == "--nonblock", w == "--nb", regexp.MustCompile(`^-[a-zA-Z]*n[a-zA-Z]*$`).MatchString(w):
			ok = true
		case !strings.HasPrefix(w, "-"):
			return code, ok // the lock file: the command follows
		}
	}
	return code, ok
}

// invented finds settings that people believe in.
func invented(u *unit) []option {
	believed := []string{
		"lockfile", "lock", "singleinstance", "singleton", "maxinstances", "instances", "mutex", "exclusive", "exclusivelock", "uniqueinstance",
	}
	spelled := map[string]string{"pidfile": "PIDFile", "killmode": "KillMode", "execcondition": "ExecCondition", "execstop": "ExecStop", "restartpreventexitstatus": "RestartPreventExitStatus"}
	var bad []option
	for _, o := range u.options {
		low := strings.ToLower(o.key)
		if right, known := spelled[low]; slices.Contains(believed, low) || known && o.key != right {
			bad = append(bad, o)
		}
	}
	return bad
}

// privateTmp finds what leads into a /tmp that only this unit sees.
func privateTmp(u *unit) []option {
	own := append(u.on("PrivateTmp"), u.on("DynamicUser")...)
	own = append(own, u.is("Service", "PrivateTmp", "disconnected")...)
	if len(own) == 0 {
		return nil
	}
	inTmp := regexp.MustCompile(`(^|[\s="':])/(var/)?tmp(/|$)`)
	var bad []option
	for _, o := range u.all("Service", "ExecStart", "ExecStartPre", "ExecCondition", "PIDFile") {
		words := o.command()
		locks := len(words) > 0 && slices.Contains([]string{"solehold", "flock", "setlock", "chpst", "lockfile"}, words[0])
		if o.key != "PIDFile" && len(words) > 0 {
			words = words[1:] // the program itself may lie anywhere
		}
		if inTmp.MatchString(strings.Join(words, " ")) && (locks || strings.Contains(strings.ToLower(o.value), "lock") || o.key == "PIDFile") {
			bad = append(bad, o)
		}
	}
	return bad
}

func lockBefore(u *unit) []option {
	var bad []option
	for _, o := range u.all("Service", "ExecStartPre", "ExecCondition") {
		words := o.command()
		_, run := o.solehold("run")
		if run || len(words) > 0 && slices.Contains([]string{"flock", "lockfile", "setlock", "dotlockfile"}, words[0]) {
			bad = append(bad, o)
		}
	}
	return bad
}

// fileAsLock finds a unit that starts only where a file is not there.
func fileAsLock(u *unit) []option {
	lock := regexp.MustCompile(`(?i)^\|?!.*(\.pid|lock|\.running|/lock/.*)$`)
	var bad []option
	for _, o := range u.all("Unit", "ConditionPathExists", "AssertPathExists") {
		if lock.MatchString(o.value) {
			bad = append(bad, o)
		}
	}
	return bad
}

func limitInService(u *unit) []option { return u.all("Service", "StartLimitIntervalSec") }

// background finds commands that leave their place. Forking services do so by
// agreement.
func background(u *unit) []option {
	if len(u.is("Service", "Type", "forking")) > 0 {
		return nil
	}
	leaves := regexp.MustCompile(`(^|[\s"'/;])(nohup|setsid|daemonize|start-stop-daemon)\s|[^&>|]&\s*["']?\s*$`)
	var bad []option
	for _, o := range u.starts() {
		if leaves.MatchString(o.value) {
			bad = append(bad, o)
		}
	}
	return bad
}

// shortStop finds a stop that ends before that of solehold.
func shortStop(u *unit) []option {
	limit, ok := u.last("Service", "TimeoutStopSec")
	if said, short := u.last("Service", "TimeoutSec"); !ok && short {
		limit, ok = said, true
	}
	if !ok {
		limit.value = "90s" // DefaultTimeoutStopSec=, where nobody has set that
	}
	stop, known := span(limit.value)
	if !known {
		return nil
	}
	for _, o := range u.starts() {
		flags, ours := o.solehold("run")
		if !ours || slices.Contains(flags, "--exec") || slices.Contains(flags, "--exec=true") {
			continue
		}
		grace := 30 * time.Second
		if said, ok := flag(flags, "--grace"); ok {
			if grace, known = span(said); !known {
				continue
			}
		}
		if stop <= grace {
			return []option{limit}
		}
	}
	return nil
}

// span reads a time as systemd and solehold write it. One that it cannot read, or
// that has no end, is not judged.
func span(text string) (time.Duration, bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(n * float64(time.Second)), n > 0 && n < 1e9
	}
	text = strings.NewReplacer(" ", "", "min", "m", "sec", "s").Replace(text)
	d, err := time.ParseDuration(text)
	return d, err == nil && d > 0
}

// childOfOneshot finds a watch that starts a command from a oneshot.
func childOfOneshot(u *unit) []option {
	if len(u.is("Service", "Type", "oneshot")) == 0 {
		return nil
	}
	var bad []option
	for _, o := range u.starts() {
		flags, ours := o.solehold("watch")
		if _, unit := flag(flags, "--unit"); ours && !unit {
			bad = append(bad, o)
		}
	}
	return bad
}

func killByName(u *unit) []option {
	var bad []option
	for _, o := range u.all("Service", "ExecStop", "ExecStopPost", "ExecStartPre", "ExecReload") {
		if regexp.MustCompile(`(^|[\s"'/;@+!:-])(pkill|killall)(\s|$)`).MatchString(o.value) {
			bad = append(bad, o)
		}
	}
	return bad
}

// oneForAllInstances finds a template whose data directory is the same for all.
func oneForAllInstances(u *unit) []option {
	if !strings.Contains(u.name, "@.") {
		return nil
	}
	var bad []option
	for _, o := range u.starts() {
		flags, ours := o.solehold("run")
		line := strings.ReplaceAll(strings.Join(flags, " "), "%%", "") // no specifier
		if ours && !regexp.MustCompile(`%[iIjJnNpfH]`).MatchString(line) {
			bad = append(bad, o)
		}
	}
	return bad
}
