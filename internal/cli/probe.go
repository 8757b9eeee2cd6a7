package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/supervise"
	"github.com/spf13/pflag"
)

// probeFlags are the flags of one probe, in Kubernetes' words.
type probeFlags struct {
	name string // health or startup

	http, tcp, unix, exec, grpc, file string
	notify                            seconds

	status, match string
	headers       []string
	maxAge        seconds
	anyAnswer     bool

	delay, period, timeout seconds
	threshold              int
}

func newProbeFlags(name string) *probeFlags {
	d := health.DefaultSettings()
	return &probeFlags{
		name: name, maxAge: seconds(30 * time.Second), status: "200-399",
		period: seconds(d.Period), timeout: seconds(d.Timeout), threshold: d.FailureThreshold,
	}
}

func (f *probeFlags) register(fl *pflag.FlagSet) {
	p := f.name + "-"
	fl.StringVar(&f.http, p+"http", "", "ask with a GET, e.g. http://127.0.0.1:8080/healthz")
	fl.StringVar(&f.tcp, p+"tcp", "", "connect to HOST:PORT")
	fl.StringVar(&f.unix, p+"unix", "", "connect to the Unix socket at this path")
	fl.StringVar(&f.exec, p+"exec", "", "run this command; 0 is well")
	fl.StringVar(&f.grpc, p+"grpc", "", "ask HOST:PORT[/SERVICE] by gRPC's health protocol")
	fl.StringVar(&f.file, p+"file", "", "look whether this file is kept fresh")
	fl.Var(&f.notify, p+"notify", "the command says WATCHDOG=1 (sd_notify) at least this often")
	fl.StringVar(&f.status, p+"http-status", f.status, "good status codes of an HTTP answer")
	fl.StringVar(&f.match, p+"http-match", "", "text that an HTTP answer's body must contain")
	fl.StringArrayVar(&f.headers, p+"http-header", nil, `header to send, "NAME: VALUE"; may be repeated`)
	fl.Var(&f.maxAge, p+"file-max-age", "age from which the file is not fresh")
	fl.BoolVar(&f.anyAnswer, p+"any-answer", false, "take the answer of whatever process listens there")
	fl.Var(&f.delay, p+"initial-delay", "time from the start of the command to the first question")
	fl.Var(&f.period, p+"period", "time from one question to the next")
	fl.Var(&f.timeout, p+"timeout", "time for one answer")
	fl.IntVar(&f.threshold, p+"failure-threshold", f.threshold, "failures in a row that count")
	fl.Lookup(p + "notify").DefValue = ""
}

// check makes the probe that was asked for; nil where none was.
func (f *probeFlags) check(fl *pflag.FlagSet) (*supervise.Check, error) {
	kinds := f.kinds(fl)
	switch {
	case len(kinds) == 0 && f.anyOther(fl):
		return nil, fmt.Errorf("the --%s-… settings need a probe: say e.g. --%s-http URL", f.name, f.name)
	case len(kinds) == 0:
		return nil, nil
	case len(kinds) > 1:
		return nil, fmt.Errorf("--%s: one probe, not %d", strings.Join(kinds, " and --"), len(kinds))
	}
	s := health.Settings{
		InitialDelay: time.Duration(f.delay), Period: time.Duration(f.period), Timeout: time.Duration(f.timeout),
		FailureThreshold: f.threshold, SuccessThreshold: 1,
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("--%s-…: %s", f.name, oneLine(err))
	}
	c := &supervise.Check{
		Schedule: policy.Schedule{InitialDelay: s.InitialDelay, Period: s.Period, Timeout: s.Timeout, FailureThreshold: s.FailureThreshold},
		Beat:     time.Duration(f.notify), AnyAnswer: f.anyAnswer,
	}
	if c.Beat > 0 {
		return c, nil
	}
	c.Probe = f.probe
	if _, err := f.probe(nil); err != nil {
		return nil, fmt.Errorf("--%s: %w", kinds[0], err)
	}
	return c, nil
}

// kinds lists the probes that were given.
func (f *probeFlags) kinds(fl *pflag.FlagSet) []string {
	var given []string
	for _, k := range []string{"http", "tcp", "unix", "exec", "grpc", "file", "notify"} {
		if fl.Changed(f.name + "-" + k) {
			given = append(given, f.name+"-"+k)
		}
	}
	return given
}

func (f *probeFlags) anyOther(fl *pflag.FlagSet) bool {
	other := false
	fl.Visit(func(flag *pflag.Flag) { other = other || strings.HasPrefix(flag.Name, f.name+"-") })
	return other
}

// probe makes it. What needs large clients is asked by a program of its own.
func (f *probeFlags) probe(runner health.Runner) (health.Probe, error) {
	switch {
	case strings.HasPrefix(f.http, "https:"):
		return f.companion(runner, slices.Concat([]string{"http", f.http, "--status", f.status}, f.httpWords()))
	case f.http != "":
		return f.plainHTTP()
	case f.tcp != "":
		return health.TCP(f.tcp)
	case f.unix != "":
		return health.Unix(f.unix)
	case f.grpc != "":
		if _, _, err := health.ParseGRPC(f.grpc); err != nil {
			return nil, err
		}
		return f.companion(runner, []string{"grpc", f.grpc})
	case f.file != "":
		return health.File(f.file, time.Duration(f.maxAge))
	}
	return command(f.exec, runner)
}

func (f *probeFlags) plainHTTP() (health.Probe, error) {
	var opts health.HTTPOptions
	var err error
	if opts.Status, err = health.ParseStatus(f.status); err != nil {
		return nil, err
	}
	for _, line := range f.headers {
		h, err := health.ParseHeader(line)
		if err != nil {
			return nil, err
		}
		opts.Header = append(opts.Header, h)
	}
	if f.match != "" {
		opts.Match = health.Contains(f.match)
	}
	return health.HTTP(f.http, opts)
}

func (f *probeFlags) httpWords() []string {
	var words []string
	if f.match != "" {
		words = append(words, "--match", regexp.QuoteMeta(f.match))
	}
	for _, h := range f.headers {
		words = append(words, "--header", h)
	}
	return words
}

var errNoProbe = errors.New("this is asked by the program solehold-probe, which is neither beside solehold nor on PATH; install it there")

func (f *probeFlags) companion(runner health.Runner, words []string) (health.Probe, error) {
	if f.http != "" {
		if _, err := health.ParseHTTP(f.http); err != nil {
			return nil, err
		}
	}
	path, ok := findCompanion("solehold-probe")
	if !ok {
		return nil, errNoProbe
	}
	const cannotTell, wrongUse = 2, 64
	argv := slices.Concat([]string{path}, words, []string{"--timeout", time.Duration(f.timeout).String()})
	return health.Exec(argv, health.ExecOptions{Runner: runner, UnknownCodes: []int{cannotTell, wrongUse}})
}

// command makes a probe of a command line. As make does, it asks a shell only
// where the line has something for a shell to do: so a program that does not
// exist is found at once.
func command(line string, runner health.Runner) (health.Probe, error) {
	const notExecutable, notFound = 126, 127
	argv := strings.Fields(line)
	if strings.ContainsAny(line, "\"'`$&|;<>()*?[]#~{}\\!\n") || len(argv) > 0 && strings.Contains(argv[0], "=") {
		argv = []string{"/bin/sh", "-c", line}
	}
	return health.Exec(argv, health.ExecOptions{Runner: runner, UnknownCodes: []int{notExecutable, notFound}})
}
