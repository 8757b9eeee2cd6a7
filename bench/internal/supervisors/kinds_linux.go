package supervisors

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stopTime is what each supervisor that has such a setting waits for a service
// that was told to end.
const stopTime = 3 * time.Second

// Kind is one way to keep a service running.
type Kind struct {
	// Name is its name in the tables.
	Name string
	// Program is what has to be installed, Package the Debian package it is in.
	Program, Package string
	// Restarts says that it starts a service again that has died, Pause what it
	// waits for before by its own rules.
	Restarts bool
	Pause    string
	// Extra says that it is a variant for the figures, not a line of the table.
	Extra bool
	// words are more words for the service.
	words []string
	// probed says that the service is asked over HTTP each 10 s.
	probed bool
	setup  func(job) (plan, error)
}

// job is what a supervisor is set up for.
type job struct {
	dir     string        // its own
	service []string      // command line
	port    int           // of the service, for a probe; 0 for none
	cycle   time.Duration // how often one that polls looks
}

// plan is how a supervisor that is set up is used.
type plan struct {
	args  []string // its command line
	stop  []string // how it is told to stop; nil for SIGTERM
	stays bool     // it stays when the service is stopped
}

// Kinds returns all, ours last. solehold is the path of ours.
func Kinds(solehold string) []Kind {
	restart := []string{"--restart", "always", "--restart-delay", "0", "--restart-max", "0"}
	return []Kind{
		{Name: "supervisord", Program: "supervisord", Package: "supervisor", Restarts: true, Pause: "it looks each second", setup: supervisord},
		{Name: "runsv", Program: "runsv", Package: "runit", Restarts: true, Pause: "1 s if the service lived for less", setup: runsv},
		{Name: "s6-supervise", Program: "s6-supervise", Package: "s6", Restarts: true, Pause: "1 s unless it said it is ready", setup: s6},
		{Name: "s6-supervise, ready", Program: "s6-supervise", Package: "s6", Restarts: true, Pause: "none if it was ready for 1 s", Extra: true, words: []string{wordReady}, setup: s6Ready},
		{Name: "supervise", Program: "supervise", Package: "daemontools", Restarts: true, Pause: "1 s if the service lived for less", setup: daemontools},
		{Name: "monit", Program: "monit", Package: "monit", Restarts: true, Pause: "it looks each cycle, here 1 s", setup: monit},
		{Name: "monit, http", Program: "monit", Package: "monit", Extra: true, probed: true, setup: monit},
		{Name: "tini -s -g", Program: "tini", Package: "tini", setup: wrapper("tini", "-s", "-g", "--")},
		{Name: "dumb-init", Program: "dumb-init", Package: "dumb-init", setup: wrapper("dumb-init", "--")},
		{Name: "catatonit -g", Program: "catatonit", Package: "catatonit", setup: wrapper("catatonit", "-g", "--")},
		{Name: "flock -n", Program: "flock", Package: "util-linux", setup: flock("-n")},
		{Name: "flock -n -o", Program: "flock", Package: "util-linux", setup: flock("-n", "-o")},
		{Name: "solehold run", Program: solehold, setup: ours(solehold)},
		{Name: "solehold run --restart", Program: solehold, Restarts: true, Pause: "none with --restart-delay 0", setup: ours(solehold, restart...)},
		{Name: "solehold run, http", Program: solehold, Extra: true, probed: true, setup: ours(solehold, "--health-period", "10s")},
	}
}

// write makes files of a name and text each.
func (j job) write(files ...string) error {
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(j.dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o700); err != nil { // monit wants a file that only its user can read
			return err
		}
	}
	return nil
}

// line is the service as a line of a shell; no word of it has a space.
func (j job) line() string { return strings.Join(j.service, " ") }

func (j job) path(name string) string { return filepath.Join(j.dir, name) }

func supervisord(j job) (plan, error) {
	text := fmt.Sprintf(`[supervisord]
nodaemon=true
logfile=%[1]s/supervisord.log
pidfile=%[1]s/supervisord.pid
childlogdir=%[1]s
user=root
[unix_http_server]
file=%[1]s/sock
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[program:service]
command=%[2]s
autorestart=true
stopasgroup=true
killasgroup=true
stopwaitsecs=%[3]d
`, j.dir, j.line(), int(stopTime.Seconds()))
	if os.Geteuid() != 0 {
		text = strings.Replace(text, "user=root\n", "", 1)
	}
	return plan{args: []string{"supervisord", "-c", j.path("supervisord.conf")}}, j.write("supervisord.conf", text)
}

func (j job) script() string { return "#!/bin/sh\nexec " + j.line() + "\n" }

func runsv(j job) (plan, error) {
	return plan{args: []string{"runsv", j.path("sv")}}, j.write("sv/run", j.script())
}

func s6(j job) (plan, error) {
	timeout := fmt.Sprintln(stopTime.Milliseconds())
	return plan{args: []string{"s6-supervise", j.path("sv")}}, j.write("sv/run", j.script(), "sv/timeout-kill", timeout, "sv/flag-timeout-killpg", "")
}

func s6Ready(j job) (plan, error) {
	p, err := s6(j)
	if err != nil {
		return p, err
	}
	return p, j.write("sv/notification-fd", "3\n")
}

// daemontools: SIGTERM would end supervise alone; svc -dx is the way to stop.
func daemontools(j job) (plan, error) {
	return plan{args: []string{"supervise", j.path("sv")}, stop: []string{"svc", "-dx", j.path("sv")}}, j.write("sv/run", j.script())
}

// monit does not start what it watches as its child: a script does, and leaves a
// pid file.
func monit(j job) (plan, error) {
	rc := fmt.Sprintf(`set daemon %[2]d
set pidfile %[1]s/monit.pid
set statefile %[1]s/state
set idfile %[1]s/id
set log %[1]s/monit.log
set httpd unixsocket %[1]s/sock
    allow bench:bench
check process service with pidfile %[1]s/service.pid
    start program = "%[1]s/start" with timeout %[3]d seconds
    stop program = "%[1]s/stop" with timeout %[3]d seconds
`, j.dir, max(1, int(j.cycle.Seconds())), int(stopTime.Seconds()))
	if j.port != 0 {
		rc += fmt.Sprintf("    if failed host 127.0.0.1 port %d protocol http then alert\n", j.port)
	}
	pid := j.path("service.pid")
	start := fmt.Sprintf("#!/bin/sh\n%s </dev/null >/dev/null 2>&1 &\necho $! >%s\n", j.line(), pid)
	stop := fmt.Sprintf("#!/bin/sh\nkill -TERM $(cat %s)\n", pid)
	file := j.path("monitrc")
	return plan{
		args: []string{"monit", "-I", "-c", file}, stop: []string{"monit", "-c", file, "stop", "service"}, stays: true,
	}, j.write("monitrc", rc, "start", start, "stop", stop)
}

// Wrapper is a kind that is used by its command line before that of the service.
func Wrapper(name string, args ...string) Kind {
	return Kind{Name: name, Program: args[0], setup: wrapper(args...)}
}

func wrapper(args ...string) func(job) (plan, error) {
	return func(j job) (plan, error) { return plan{args: append(args[:len(args):len(args)], j.service...)}, nil }
}

func flock(flags ...string) func(job) (plan, error) {
	return func(j job) (plan, error) {
		return wrapper(append(append([]string{"flock"}, flags...), j.path("lock"))...)(j)
	}
}

func ours(solehold string, flags ...string) func(job) (plan, error) {
	return func(j job) (plan, error) {
		args := append([]string{solehold, "run", "--create", j.path("data"), "--grace", stopTime.String()}, flags...)
		if j.port != 0 {
			args = append(args, "--health-http", fmt.Sprintf("http://127.0.0.1:%d/", j.port))
		}
		return wrapper(append(args, "--")...)(j)
	}
}
