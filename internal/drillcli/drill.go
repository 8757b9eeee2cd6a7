package drillcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/solehold/solehold/internal/drill"
	"github.com/spf13/cobra"
)

// Exit codes of a drill.
const (
	exitFail   = 1
	exitNotRun = 2
)

// drillFlags are those of the verb.
type drillFlags struct {
	config drill.Config
	also   string
	json   bool
	html   string
}

func (a *app) drillCommand() *cobra.Command {
	f := &drillFlags{}
	names, about := drill.Scenarios()
	var list strings.Builder
	for i, name := range names {
		fmt.Fprintf(&list, "  %-12s %s\n", name, about[i])
	}
	cmd := &cobra.Command{
		Use:   "drill SCENARIO [flags] -- COMMAND...",
		Short: "Force races and faults on a command, and count its owners from outside",
		Long: `Force races and faults on any command, guarded or not, and count from outside how
many of its starts own the data at once: by who has files of the data directory
open for writing, changes them, or listens on sockets. The command is never asked.

Scenarios:
` + list.String() + `  all          each of them

In the command {dir} stands for the data directory and {n} for the number of the
start; the directory is in SOLEHOLD_DIR as well. Without --dir a directory is made,
and removed afterwards. The command has no terminal, and its output goes to a file.

Exit codes:
  0    one owner at most, and the next one came
  1    more than one owner at once, or none where one was due
  2    it cannot run here, or was ended before its verdict
  64   the command line is wrong`,
		Example: `  solehold drill race -n 32 --rounds 50 -- kb --data {dir} --addr 127.0.0.1:0
  solehold drill race --also "kb-watch --data {dir}" -- kb --data {dir}
  solehold drill all --html report.html -- redis-server --dir {dir} --port 7001`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.drill(cmd, f, args) },
	}
	f.define(cmd)
	return cmd
}

func (f *drillFlags) define(cmd *cobra.Command) {
	c, flags := &f.config, cmd.Flags()
	flags.IntVarP(&c.Starters, "starters", "n", 0, fmt.Sprintf("how many starts in one round (default %d for race, 3 else)", drill.DefaultStarters))
	flags.IntVar(&c.Rounds, "rounds", 0, fmt.Sprintf("how many rounds (default %d, for partition %d)", drill.DefaultRounds, drill.PartitionRounds))
	flags.StringVar(&c.Dir, "dir", "", "data directory that nobody uses; without it one is made")
	flags.StringArrayVar(&c.Ignore, "ignore", nil, "files there, by a pattern such as *.log, that a start may write without owning the data; may be repeated")
	flags.StringVar(&f.also, "also", "", "a second entrance to the same data, one line of words: every second start uses it")
	flags.StringVar(&c.HealthURL, "health-http", "", "URL that must answer after each start")
	flags.Uint64Var(&c.Seed, "seed", 0, "makes the random points of an earlier drill again")
	flags.DurationVar(&c.Limit, "limit", drill.DefaultLimit, "how long an owner, an answer or an end may take")
	flags.DurationVar(&c.Grace, "grace", drill.DefaultGrace, "how long an end may take after TERM, in slow-stop")
	flags.DurationVar(&c.Settle, "settle", drill.DefaultSettle, "how long nothing must change before a round is judged")
	flags.BoolVar(&c.Keep, "keep", false, "leave the data directory that was made, and what the starts printed")
	flags.StringVar(&f.html, "html", "", "write a page with a time line of every round to this file")
	flags.BoolVar(&f.json, "json", false, "answer in JSON")
}

// drill runs what is asked for and prints what was seen.
func (a *app) drill(cmd *cobra.Command, f *drillFlags, args []string) error {
	c := f.config
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0 || dash == 0:
		return usage("which scenario? For example race")
	case dash < 0:
		return usage("which command? It follows --")
	case dash > 1:
		return usage("one scenario at a time, or all: %q is one too many", args[1])
	}
	c.Command, c.Also = args[dash:], strings.Fields(f.also)
	scenarios := []string{args[0]}
	if args[0] == drill.All {
		scenarios, _ = drill.Scenarios()
	}
	page, err := create(f.html) // a wrong name is found before anything is started
	if err != nil {
		return err
	}
	defer page.Close()
	// Who ends the drill wants it to clean up and to say what was seen until then.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	reports, err := a.play(ctx, c, scenarios)
	if err != nil {
		return err
	}
	if page != nil {
		err = drill.WritePage(page, reports)
	}
	return errors.Join(a.print(f, reports), err)
}

// play runs scenarios one after the other. An error is about the command line.
func (a *app) play(ctx context.Context, c drill.Config, scenarios []string) ([]drill.Report, error) {
	var reports []drill.Report
	line := progress{to: a.env.Stderr, live: a.env.Live, began: time.Now()}
	c.Progress = line.show
	for _, name := range scenarios {
		c.Scenario = name
		r, err := drill.Run(ctx, c)
		line.clear()
		if err != nil && r.Verdict == "" {
			return nil, err
		}
		reports = append(reports, r)
		switch {
		case r.Verdict == drill.Failed:
			a.code = exitFail
		case err != nil && a.code == 0:
			a.code = exitNotRun
		}
		if ctx.Err() != nil {
			break
		}
	}
	return reports, nil
}

// print gives the answer.
func (a *app) print(f *drillFlags, reports []drill.Report) error {
	if f.json {
		out := json.NewEncoder(a.env.Stdout)
		out.SetIndent("", " ")
		return out.Encode(reports)
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(a.env.Stdout)
		}
		fmt.Fprint(a.env.Stdout, table(r))
	}
	return nil
}

// create opens the file that the page goes to, nil where none is wanted.
func create(name string) (*os.File, error) {
	if name == "" {
		return nil, nil
	}
	return os.Create(name)
}
