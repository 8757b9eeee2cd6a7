// Package probecli is the command line of solehold-probe: one probe, its answer in a line and in the exit code.
package probecli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/solehold/solehold/health"
	"github.com/solehold/solehold/health/grpchealth"
	"github.com/solehold/solehold/health/healthtls"
	"github.com/spf13/cobra"
)

const (
	exitFail    = 1
	exitUnknown = 2
	exitUsage   = 64
)

// command is what all verbs share.
type command struct {
	timeout seconds
	code    int
	out     io.Writer
}

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, out, errs io.Writer, args []string) int {
	c := newCommand(out)
	root := c.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(errs, "solehold-probe: %v\n  next: see solehold-probe --help\n", err)
		return exitUsage
	}
	return c.code
}

func newCommand(out io.Writer) *command {
	return &command{timeout: seconds(health.DefaultTimeout), out: out}
}

// Root returns the command tree, for the pages that are made from it.
func Root() *cobra.Command { return newCommand(io.Discard).root() }

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "solehold-probe",
		Short: "Ask a service once whether it is well",
		Long: `Ask a service once whether it is well. The answer is one line.

Exit codes:
  0    it is well
  1    it is not: it answered wrongly, refused, or not in time
  2    it cannot be told: the probe itself could not ask
  64   the command line is wrong`,
		Example: `  solehold-probe grpc 127.0.0.1:50051/kb
  solehold-probe http https://127.0.0.1:8443/healthz --timeout 2s
  solehold-probe unix /run/kb.sock`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().Var(&c.timeout, "timeout", "time for the answer, for example 2s or 2")
	root.AddCommand(
		c.http(),
		c.verb("grpc HOST:PORT[/SERVICE]", "Ask by gRPC's health protocol", grpchealth.New),
		c.verb("tcp HOST:PORT", "Connect to a TCP port", health.TCP),
		c.verb("unix PATH", "Connect to a Unix socket", health.Unix),
		c.file(),
	)
	return root
}

// verb makes a subcommand of a probe without options.
func (c *command) verb(use, short string, probe func(string) (health.Probe, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := probe(args[0])
			if err != nil {
				return err
			}
			return c.ask(cmd.Context(), p)
		},
	}
}

func (c *command) http() *cobra.Command {
	var statuses, match string
	var headers []string
	cmd := c.verb("http URL", "Send a GET and judge the answer", func(target string) (health.Probe, error) {
		opts, err := httpOptions(statuses, match, headers)
		if err != nil {
			return nil, err
		}
		return healthtls.HTTP(target, opts)
	})
	cmd.Long = "Send a GET and judge the answer. Certificates are not verified. Redirects to the same host are followed."
	cmd.Flags().StringVar(&statuses, "status", "200-399", "good status codes")
	cmd.Flags().StringVar(&match, "match", "", "regular expression that the body must match")
	cmd.Flags().StringArrayVar(&headers, "header", nil, `header to send, "NAME: VALUE"; may be repeated`)
	return cmd
}

func httpOptions(statuses, match string, headers []string) (opts health.HTTPOptions, err error) {
	if opts.Status, err = health.ParseStatus(statuses); err != nil {
		return opts, err
	}
	if match != "" {
		re, err := regexp.Compile(match)
		if err != nil {
			return opts, err
		}
		opts.Match = re
	}
	for _, line := range headers {
		h, err := health.ParseHeader(line)
		if err != nil {
			return opts, err
		}
		opts.Header = append(opts.Header, h)
	}
	return opts, nil
}

func (c *command) file() *cobra.Command {
	maxAge := seconds(30 * time.Second)
	cmd := c.verb("file PATH", "Look at the age of a heartbeat file", func(path string) (health.Probe, error) {
		return health.File(path, time.Duration(maxAge))
	})
	cmd.Flags().Var(&maxAge, "max-age", "age from which the file counts as not kept fresh")
	return cmd
}

func oneTarget(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("which target? %s takes exactly one", cmd.Name())
	}
	return nil
}

// ask asks once and prints the line.
func (c *command) ask(ctx context.Context, p health.Probe) error {
	if c.timeout <= 0 {
		return errors.New("timeout: must be positive")
	}
	s := health.DefaultSettings()
	s.Timeout = time.Duration(c.timeout)
	r := s.Check(ctx, p)
	switch r.Verdict {
	case health.Fail:
		c.code = exitFail
	case health.Unknown:
		c.code = exitUnknown
	}
	fmt.Fprintln(c.out, r) // who cannot read the line still has the exit code
	return nil
}

// seconds is a duration that may be given as a bare number of seconds.
type seconds time.Duration

// Set reads "1.5s" or "1.5".
func (s *seconds) Set(text string) error {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("not a time: say for example 2s or 2")
	}
	*s = seconds(d)
	return nil
}

// String prints the duration as Go does.
func (s *seconds) String() string { return time.Duration(*s).String() }

// Type names the kind of value in help texts.
func (s *seconds) Type() string { return "duration" }
