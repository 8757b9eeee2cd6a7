package drill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
	"github.com/solehold/solehold/internal/procfs"
)

// run plays the rounds of one scenario.
func run(ctx context.Context, c Config, what scenario) (Report, error) {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()>>11 + 1 // a number that survives a JSON reader
	}
	s := &stage{
		Config: c, ctx: ctx, inbox: make(chan post), wait: lookPeriod, names: map[int]string{},
		report: &Report{Scenario: c.Scenario, Command: c.Command, Also: c.Also, Seed: c.Seed, Starters: c.Starters, Began: time.Now(), Again: c.again()},
	}
	err := s.open()
	if err == nil {
		err = s.rounds(what)
	}
	err = errors.Join(err, s.close())
	s.report.Took = since(s.report.Began, time.Now())
	return s.sum(err), err
}

// open makes what the stage consists of.
func (s *stage) open() (err error) {
	if err := s.commands(); err != nil {
		return err
	}
	if s.work, err = os.MkdirTemp("", "solehold-drill-"); err != nil {
		return err
	}
	if err := s.data(); err != nil {
		return err
	}
	s.eye = eye{proc: procfs.Default(), dir: s.Dir + "/", ignore: s.Ignore, locked: map[uint64]bool{}}
	s.events = hear()
	if s.events.deaf != nil {
		s.gap(s.events.deaf.Error())
	}
	if s.probe, err = newProbe(s.ctx, s.HealthURL); err != nil {
		return err
	}
	s.gate, err = newGate()
	return err
}

// commands finds the programs before anything is started.
func (s *stage) commands() error {
	for _, command := range []*[]string{&s.Command, &s.Also} {
		if len(*command) == 0 {
			continue
		}
		path, err := exec.LookPath((*command)[0])
		if err != nil {
			return err
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		*command = append([]string{path}, (*command)[1:]...)
	}
	if len(s.Self) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		s.Self = []string{self}
	}
	return nil
}

// data finds or makes the data directory. One that is in use is refused: what lives there would be hurt.
func (s *stage) data() (err error) {
	if s.Dir == "" {
		s.Dir = filepath.Join(s.work, "data")
		if err := os.Mkdir(s.Dir, 0o700); err != nil {
			return err
		}
	} else {
		r := diagnose.Status(s.ctx, s.Dir, nil)
		if r.State != solehold.Free {
			return fmt.Errorf("%s is %s: a drill is for a directory that nobody uses", s.Dir, r.State)
		}
		s.Config.Keep = false // it is not ours to remove
	}
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return err
	}
	s.Dir, err = filepath.EvalSymlinks(s.Dir)
	s.report.Dir = s.Dir
	return err
}

// host gives the cradle number i of those that stand where the drill does.
func (s *stage) host(i int) (*host, error) {
	for len(s.plain) <= i {
		h, err := s.newHost(place{Data: s.Dir})
		if err != nil {
			return nil, err
		}
		s.plain = append(s.plain, h)
	}
	return s.plain[i], nil
}

func (s *stage) rounds(what scenario) error {
	var nexts, healths, cuts []float64
	defer func() { s.report.Next, s.report.Healthy, s.report.Cut = times(nexts), times(healths), times(cuts) }()
	for n := 1; n <= s.Rounds; n++ {
		s.starts, s.frames, s.log, s.began = nil, nil, nil, time.Now()
		p := &play{stage: s, number: n, dice: newDice(s.Seed, n)}
		s.tellProgress(n)
		if err := s.events.cover(s.Dir); err != nil {
			s.gap(err.Error())
		}
		err := what.play(p)
		err = errors.Join(err, s.end(s.starts...))
		s.collect(s.judge(p))
		nexts, healths = append(nexts, p.nexts...), append(healths, p.healths...)
		cuts = append(cuts, p.cuts...)
		s.tellProgress(n)
		if err = errors.Join(err, s.leaveExtra()); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) collect(r Round) {
	s.report.Rounds = append(s.report.Rounds, r)
	s.report.Owners = max(s.report.Owners, r.Owners)
	for _, f := range s.frames {
		for _, facts := range f.facts {
			for _, f := range facts {
				if s.eye.counts(f) && !slices.Contains(s.report.By, string(f.kind)) {
					s.report.By = append(s.report.By, string(f.kind))
				}
			}
		}
	}
}

func (s *stage) tellProgress(n int) {
	if s.Progress != nil {
		s.Progress(Progress{Scenario: s.Scenario, Round: n, Rounds: s.Rounds, Owners: s.report.Owners})
	}
}

// leaveExtra ends the cradles that were made for one round.
func (s *stage) leaveExtra() error {
	extra := slices.DeleteFunc(slices.Clone(s.hosts), func(h *host) bool { return slices.Contains(s.plain, h) })
	s.hosts = slices.Clone(s.plain)
	return s.dismiss(extra)
}

// dismiss lets cradles go, which end what is below them.
func (s *stage) dismiss(hosts []*host) error {
	for _, h := range hosts {
		h.line.Close()
	}
	over := time.NewTimer(s.Limit)
	defer over.Stop()
	for _, h := range hosts {
		for left := true; left; {
			select {
			case <-h.gone:
				left = false
			case <-s.inbox: // nothing of it matters any more
			case <-over.C:
				return fmt.Errorf("the cradle pid %d does not end", h.pid)
			}
		}
	}
	return nil
}

// close ends everything and removes what was made.
func (s *stage) close() error {
	err := s.dismiss(s.hosts)
	s.probe.close()
	if s.events != nil {
		s.events.close()
	}
	if s.gate != nil {
		s.gate.Close()
	}
	if s.Keep && s.work != "" {
		s.report.Kept = true
		return err
	}
	return errors.Join(err, os.RemoveAll(s.work))
}

// sum makes the verdict.
func (s *stage) sum(err error) Report {
	r := s.report
	if s.eye.sockets.gap != nil {
		s.gap("listening sockets: " + s.eye.sockets.gap.Error())
	}
	for _, round := range r.Rounds {
		for _, reason := range round.Reasons {
			r.Reasons = append(r.Reasons, fmt.Sprintf("round %d: %s", round.Number, reason))
		}
	}
	if len(r.Left) > 0 {
		s.remark("what outlived the first process of its start was ended by the drill: %s", count(len(r.Left), "process"))
	}
	slices.Sort(r.By)
	switch {
	case len(r.Reasons) > 0:
		r.Verdict = Failed
	case err != nil || len(r.Rounds) == 0:
		r.Verdict = NotRun
	default:
		r.Verdict = Pass
	}
	if err != nil {
		r.Reasons = append(r.Reasons, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return *r
}
