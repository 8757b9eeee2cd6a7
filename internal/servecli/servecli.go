// Package servecli is the command line of solehold-serve: flags, output and exit codes of `solehold serve`.
package servecli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/remote"
	"github.com/solehold/solehold/internal/web"
	"github.com/spf13/cobra"
)

const (
	defaultListen = "127.0.0.1:9321"
	exitFailed    = 74
)

// Run runs one command line and returns the exit code.
func Run(ctx context.Context, out, errs io.Writer, args []string) int {
	root := command(out)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code, next := web.CodeUsage, "see solehold serve --help"
	if e, ok := errors.AsType[*web.ListenError](err); ok {
		code, next = e.Code, e.Next
	} else if errors.Is(err, errServe) {
		code, next = exitFailed, "start it again"
	}
	fmt.Fprintf(errs, "solehold: %s\n  next: %s\n", solehold.Printable(err.Error()), next)
	return code
}

var errServe = errors.New("the page is no longer served")

// Root returns the command, for the pages that are made from it.
func Root() *cobra.Command { return command(io.Discard) }

func command(out io.Writer) *cobra.Command {
	var o web.Options
	var at place
	cmd := &cobra.Command{
		Use:   "serve [PATH...]",
		Short: "Show on a local page who owns which data directory",
		Long: `Show on a local page who owns which data directory, what happened to each, who
waits for whom, and what doctor finds. Directories that somebody holds are found
by themselves; a PATH is shown whether somebody has it or not.

It only shows: it answers GET, on a loopback address or a Unix socket, takes no
lock and writes no file. Start it as root to see the holders of all users.

Exit codes:
  0   it was stopped
  64  the command line, or an address that others could reach
  73  the port or the path of the socket is in use, or a program is missing
  74  it could not go on
  77  this user may not listen there`,
		Example: `  solehold serve
  solehold serve --listen unix:/run/solehold.sock /srv/kb/data
  solehold serve --cluster etcd://e1:2379,e2:2379/kb
  ssh -L 9321:127.0.0.1:9321 host   # from elsewhere`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "solehold serve"},
		SilenceErrors: true, SilenceUsage: true,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, paths []string) error {
			o.Overview.Paths = paths
			return serve(cmd.Context(), out, at, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&at.listen, "listen", defaultListen, "a loopback `address` with its port, or unix:PATH")
	f.StringVar(&at.text, "textfile", "", "a `directory` for a file of the metrics, as the textfile collector of node_exporter reads it")
	f.StringArrayVar(&o.Hosts, "allow-host", nil, "a `name` by which a browser may ask, beside localhost (again for more)")
	f.StringArrayVar(&o.Overview.Roots, "root", nil, "a base `directory` of data roots (solehold root): show each of them (again for more)")
	f.StringArrayVar(&at.clusters, "cluster", nil, "the `URL` of an engine, as solehold run has it: show who has its locks, on whatever machine (again for more)")
	f.DurationVar(&o.Overview.MaxAge, "max-age", 0, "also tell of directories that are held for longer, e.g. 24h")
	f.DurationVar(&o.Overview.Timeout, "timeout", 2*time.Second, "how long a file system may take to answer")
	f.DurationVar(&o.Overview.Examine, "examine", overview.DefaultExamine, "the shortest pause between two looks of doctor; less than this one costs more")
	for _, name := range []string{"textfile", "root"} {
		cmd.MarkFlagDirname(name) // whose only error is that there is no such flag
	}
	return cmd
}

// place is where the page and the text file are, and which engines are asked.
type place struct {
	listen, text string
	clusters     []string
}

// engines are those that are to be asked; none without solehold-cluster.
func (p place) engines(timeout time.Duration) (*remote.Watcher, error) {
	if len(p.clusters) == 0 {
		return nil, nil
	}
	program, err := companion("solehold-cluster")
	if err != nil {
		return nil, err
	}
	return remote.New(program, p.clusters, timeout)
}

// companion finds a program beside this one, or on PATH.
func companion(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &web.ListenError{Address: "--cluster", Why: "there is no program " + name + " beside this one, and none on PATH", Next: "install " + name + " beside solehold", Code: web.CodeCreate}
	}
	return path, nil
}

func whereOf(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return "unix:" + l.Addr().String()
	}
	return "http://" + l.Addr().String() + "/"
}

func serve(ctx context.Context, out io.Writer, at place, o web.Options) error {
	if o.Overview.Timeout <= 0 || o.Overview.Examine <= 0 || o.Overview.MaxAge < 0 {
		return errors.New("--timeout, --examine and --max-age are more than nothing")
	}
	clusters, err := at.engines(o.Overview.Timeout)
	if err != nil {
		return err
	}
	o.Clusters = clusters
	l, err := web.Listen(at.listen)
	if err != nil {
		return err
	}
	o.Ready = func() { fmt.Fprintf(out, "solehold: serving %s\n", solehold.Printable(whereOf(l))) }
	s, err := web.New(o)
	if err != nil {
		l.Close()
		return err
	}
	var writing sync.WaitGroup
	defer writing.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if at.text != "" {
		writing.Go(func() {
			stop(s.KeepText(ctx, at.text, func(err error) { fmt.Fprintf(out, "solehold: %s\n", solehold.Printable(err.Error())) }))
		})
	}
	err = s.Serve(ctx, l)
	if refused := (*web.ListenError)(nil); errors.As(context.Cause(ctx), &refused) {
		return refused
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errServe, err)
	}
	return nil
}
