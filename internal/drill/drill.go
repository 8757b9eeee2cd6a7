// Package drill forces the faults that are otherwise met by chance (two starters in one instant, a crash, a hang, a killed
// wrapper, a full disk, a reboot) on any command, and counts from outside how many of its starts own the data at once.
//
// # What is seen
//
// A start owns the data while one of its processes has a file of the data directory open for writing, listens on a
// socket, or has just changed a file there. Where none does any of that, the starts that live on are counted. Processes
// are found below a process of ours that adopts what they leave behind, files and sockets in /proc, changes through
// fanotify where that is permitted. The command is never asked, and its lock files, records and exit codes prove nothing.
//
// # What is not promised
//
//   - Between two looks, some milliseconds apart, what opens and closes a file without changing it may be missed.
//   - Who closes a file and opens it again between two looks is taken to have had it all along: starts that hand the data
//     to each other every few milliseconds may be told as a clash.
//   - Changes through mapped memory alone are seen as the open file, not as a change.
//   - A file that somebody has locked as a whole counts for who has that lock; solehold's own files count for nobody.
//
// Only processes that the drill has started are signalled, each through a descriptor that is proven to be that process.
package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Defaults of a drill.
const (
	DefaultStarters = 8
	DefaultRounds   = 10
	PartitionRounds = 3 // each takes as long as a lease
	DefaultLimit    = 30 * time.Second
	DefaultGrace    = 30 * time.Second
	DefaultSettle   = 300 * time.Millisecond
)

// All is the name that stands for every scenario.
const All = "all"

// ErrNotHere is in the error of a scenario that cannot run on this machine or for this user; the text says why.
var ErrNotHere = errors.New("cannot run here")

// Config is one drill.
type Config struct {
	// Scenario is what is forced.
	Scenario string
	// Command is started. In each word {dir} stands for the data directory and {n} for the number of the start.
	Command []string
	// Also is a second entrance to the same data: each second start uses it. Empty for none.
	Also []string
	// Starters is how many are started; 0 means the scenario's own number.
	Starters int
	// Rounds is how often; 0 means the scenario's own number, most often DefaultRounds.
	Rounds int
	// Dir is the data directory; empty makes one, which is removed afterwards unless Keep is set.
	Dir string
	// Ignore are patterns of files in Dir, as of filepath.Match, that a start may write without owning the data.
	Ignore []string
	// HealthURL is asked over HTTP until it answers; empty for no question.
	HealthURL string
	// Seed makes the random points the same again; 0 takes one.
	Seed uint64
	// Limit bounds each wait: for an owner, for health, for an end.
	Limit time.Duration
	// Grace bounds how long a start may take to end after TERM.
	Grace time.Duration
	// Settle is how long nothing must change before a round counts as settled.
	Settle time.Duration
	// Keep leaves a data directory that was made here.
	Keep bool
	// Tool is the program solehold, below which partition runs the command; empty for that beside this one, or on PATH.
	Tool string
	// Self is how this program is called to be a cradle, without its verb.
	Self []string
	// Progress is called with each change; it must not block. Nil for nobody.
	Progress func(Progress)
}

// Progress is how far a drill is.
type Progress struct {
	// Scenario is what is forced.
	Scenario string
	// Round is the present one of Rounds.
	Round, Rounds int
	// Owners is the most that were seen at once so far.
	Owners int
}

// scenario is one kind of fault.
type scenario struct {
	name     string
	about    string // half a line for help texts
	starters int    // by default
	rounds   int    // by default
	needs    func() error
	play     func(*play) error // one round
}

// Scenarios lists the names in the order in which `all` runs them, each with half a line about it.
func Scenarios() (names, about []string) {
	for _, s := range scenarios() {
		names, about = append(names, s.name), append(about, s.about)
	}
	return names, about
}

func find(name string) (scenario, bool) {
	all := scenarios()
	i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
	if i < 0 {
		return scenario{}, false
	}
	return all[i], true
}

// withDefaults fills in what was left out and refuses what makes no sense.
func (c Config) withDefaults() (Config, error) {
	s, known := find(c.Scenario)
	switch {
	case len(scenarios()) == 0:
		return c, fmt.Errorf("%w: drills need Linux", ErrNotHere)
	case !known:
		names, _ := Scenarios()
		return c, fmt.Errorf("no scenario %q: there are %s", c.Scenario, strings.Join(names, ", "))
	case len(c.Command) == 0:
		return c, errors.New("which command? it follows --")
	case c.Starters < 0 || c.Starters == 1 || c.Starters > maxStarters:
		return c, fmt.Errorf("%d starters: must be from 2 to %d", c.Starters, maxStarters)
	case c.Rounds < 0:
		return c, fmt.Errorf("%d rounds: must be positive", c.Rounds)
	case c.Limit < 0 || c.Grace < 0 || c.Settle < 0:
		return c, errors.New("a time is negative")
	}
	if c.Starters == 0 {
		c.Starters = s.starters
	}
	if c.Rounds == 0 {
		c.Rounds = s.rounds
	}
	if c.Limit == 0 {
		c.Limit = DefaultLimit
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Settle == 0 {
		c.Settle = DefaultSettle
	}
	return c, nil
}

// maxStarters keeps a slip of the finger from filling the table of processes.
const maxStarters = 1024

// Run runs one scenario. The error says that it could not be run at all (ErrNotHere where this machine or user is the
// reason), or is the cause of ctx; what was seen until then is in the report all the same. Nothing that was started is
// left when it returns, or Report.Left names it.
func Run(ctx context.Context, c Config) (Report, error) {
	c, err := c.withDefaults()
	if err != nil {
		return Report{Scenario: c.Scenario}, err
	}
	s, _ := find(c.Scenario)
	if s.needs != nil {
		if err := s.needs(); err != nil {
			return Report{Scenario: c.Scenario, Verdict: NotRun, Reasons: []string{err.Error()}}, err
		}
	}
	return run(ctx, c, s)
}

// again is the command line that repeats a drill.
func (c Config) again() string {
	words := []string{
		"solehold", "drill", c.Scenario, "--seed", strconv.FormatUint(c.Seed, 10),
		"-n", strconv.Itoa(c.Starters), "--rounds", strconv.Itoa(c.Rounds),
	}
	add := func(flag, value string, given bool) {
		if given {
			words = append(words, flag, shellWord(value))
		}
	}
	add("--dir", c.Dir, c.Dir != "")
	for _, pattern := range c.Ignore {
		add("--ignore", pattern, true)
	}
	add("--also", strings.Join(c.Also, " "), len(c.Also) > 0)
	add("--health-http", c.HealthURL, c.HealthURL != "")
	add("--limit", c.Limit.String(), c.Limit != DefaultLimit)
	add("--grace", c.Grace.String(), c.Grace != DefaultGrace)
	add("--settle", c.Settle.String(), c.Settle != DefaultSettle)
	words = append(words, "--")
	for _, word := range c.Command {
		words = append(words, shellWord(word))
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a shell where that is needed.
func shellWord(word string) string {
	plain := strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("{}%+,-./:=@_", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
	if plain && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
