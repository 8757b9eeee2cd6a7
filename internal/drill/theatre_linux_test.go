package drill

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/solehold/solehold/internal/procfs"
)

// Scene is what is seen and told from a moment on.
type Scene struct {
	At   time.Duration
	See  fs.FS
	Tell []Told
}

// Told is news of a start.
type Told struct {
	Start, PID int
	What       string
}

// scenes show the one of the moment. They never change, so that they can be looked at from anywhere.
type scenes struct {
	began time.Time
	all   []Scene
}

func (s *scenes) now() fs.FS {
	see := s.all[0].See
	for _, x := range s.all {
		if time.Since(s.began) >= x.At {
			see = x.See
		}
	}
	return see
}

func (s *scenes) Open(name string) (fs.File, error)          { return s.now().Open(name) }
func (s *scenes) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(s.now(), name) }
func (s *scenes) ReadLink(name string) (string, error)       { return fs.ReadLink(s.now(), name) }
func (s *scenes) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(s.now(), name) }

func tellAll(all []Scene, to chan<- post, hosts map[int]*host) {
	for _, x := range all {
		for _, told := range x.Tell {
			time.AfterFunc(x.At, func() {
				to <- post{from: hosts[told.Start], news: news{What: told.What, PID: told.PID}}
			})
		}
	}
}

// Theatre is a stage without processes: what is seen of the starts is made up. The cradle of start n is pid 100 n.
type Theatre struct {
	*stage
	Report *Report
}

// NewTheatre opens with so many starts that have been released just now. It is for a bubble of synctest.
func NewTheatre(ctx context.Context, c Config, starts int, all ...Scene) *Theatre {
	seen := &scenes{time.Now(), all}
	s := &stage{
		Config: c, ctx: ctx, inbox: make(chan post, 100), events: &changes{told: make(chan change)}, wait: lookPeriod,
		names: map[int]string{}, report: &Report{}, began: time.Now(),
		eye: eye{proc: procfs.New(seen), dir: "/d/", locked: map[uint64]bool{}},
	}
	hosts := map[int]*host{}
	for n := 1; n <= starts; n++ {
		hosts[n] = &host{pid: 100 * n}
		s.newStart(hosts[n]).began = time.Now()
	}
	tellAll(all, s.inbox, hosts)
	return &Theatre{s, s.report}
}

// Strange makes a pid of a start one that the drill has put there.
func (t *Theatre) Strange(start, pid int) { t.starts[start-1].strange[pid] = true }

// Settle gives the numbers of the owners once the round has come to rest, and after how long that was.
func (t *Theatre) Settle() (owners []int, took time.Duration, err error) {
	began := time.Now()
	all, err := t.settle()
	for _, x := range all {
		owners = append(owners, x.number)
	}
	return owners, time.Since(began), err
}

// Judge makes a round of all that was seen.
func (t *Theatre) Judge() Round { return t.judge(&play{stage: t.stage, number: 1}) }

// MadeLife is a start that never was; times are seconds from the beginning of the round, 0 for never.
type MadeLife struct {
	Began, Ended, Died float64
	End                string
	ByUs, Killed       bool
}

// MadeFrame is what was seen of them in a while: by what each start owned the data.
type MadeFrame struct {
	From, To float64
	By       map[int]string // open, listens, lives; locked: the file whose lock it has; unlocked: a file that somebody has locked
}

// JudgeOf makes a round of made-up lives, after an owner that died at a time before it (0 for none).
func JudgeOf(before float64, all []MadeLife, frames []MadeFrame) (Round, Report) {
	began := time.Now()
	at := func(seconds float64) time.Time {
		if seconds == 0 {
			return time.Time{}
		}
		return began.Add(time.Duration(seconds * float64(time.Second)))
	}
	s := &stage{report: &Report{Began: began}, began: began, names: map[int]string{}, eye: eye{locked: map[uint64]bool{9: true}}}
	if before != 0 {
		s.before = &start{died: at(before)}
	}
	for i, l := range all {
		x := &start{number: i + 1, pid: 100 * (i + 1), began: at(l.Began), ended: at(l.Ended), died: at(l.Died), end: l.End, byUs: l.ByUs, killed: l.Killed}
		s.starts = append(s.starts, x)
		s.names[x.pid] = "svc"
	}
	for _, f := range frames {
		facts := map[*start][]fact{}
		for _, n := range slices.Sorted(maps.Keys(f.By)) {
			x := s.starts[n-1]
			facts[x] = append(facts[x], map[string]fact{
				"open":     {pid: x.pid, kind: writes, what: "data", inode: 7},
				"listens":  {pid: x.pid, kind: listens, what: "tcp port 80"},
				"lives":    {pid: x.pid, kind: lives},
				"locked":   {pid: x.pid, kind: writes, what: "lock", inode: 9, locked: true},
				"unlocked": {pid: x.pid, kind: writes, what: "lock", inode: 9},
			}[f.By[n]])
		}
		s.keep(frame{at(f.From), at(f.To), facts})
	}
	p := &play{stage: s, number: 1}
	r := s.judge(p)
	s.report.Next = times(p.nexts)
	return r, *s.report
}
