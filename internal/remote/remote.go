// Package remote asks cluster engines who has their locks, for a page that must not
// wait for them. The clients of the engines are in a program of its own,
// solehold-cluster, which is run for each question and ended when it takes too long; it
// only reads. What it said last is kept beside why it does not say more.
package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solehold/solehold/cluster"
)

const (
	// MostLocks is how many locks of a cluster are kept; the others are counted.
	MostLocks = 500
	// mostText bounds what one answer may be in bytes.
	mostText = 4 << 20
	// every is the pause between two questions while somebody wants to know.
	every = 10 * time.Second
)

// Lock is one lock of a cluster.
type Lock struct {
	// Name is the lock, Key where in the engine its claim lies.
	Name string `json:"name"`
	Key  string `json:"key,omitempty"`
	// State is HELD, FREE, or UNKNOWN where something else is in its place.
	State string `json:"state"`
	// Host is the machine of the holder, where it says so.
	Host string `json:"host,omitempty"`
	// Info is what the holder, or the last one, says of itself.
	Info string `json:"info,omitempty"`
	// Token is that of the claim.
	Token uint64 `json:"token,omitempty"`
	// Since is when the claim was made, by the clock of its holder; where that does not say, when it was first seen here.
	Since time.Time `json:"since,omitzero"`
	// Until is when the claim runs out unless it is renewed, where the engine says so.
	Until time.Time `json:"until,omitzero"`
	// Broken is why an operator has broken the last claim, and who.
	Broken string `json:"broken,omitempty"`
}

// Held says that somebody has it.
func (l Lock) Held() bool { return l.State == "HELD" }

// Cluster is what one engine said.
type Cluster struct {
	// Engine is where it is, without anything secret.
	Engine string `json:"engine"`
	// Locks are sorted by name.
	Locks []Lock `json:"locks"`
	// LeftOut counts those beyond MostLocks.
	LeftOut int `json:"left_out,omitempty"`
	// Answered is when it said so; zero where it never did.
	Answered time.Time `json:"answered,omitzero"`
	// Trouble is why it has not answered the newest question; empty where it has.
	Trouble string `json:"trouble,omitempty"`
}

// Watcher asks some engines. It may be used by several goroutines.
type Watcher struct {
	program string
	urls    []string
	timeout time.Duration

	mu       sync.Mutex
	last     []Cluster
	asked    time.Time
	asking   bool
	revision uint64
	news     func()
}

// New returns a watcher of the engines with these addresses, which has not asked yet.
// Program is solehold-cluster. The error is about an address; it shows nothing secret.
func New(program string, urls []string, timeout time.Duration) (*Watcher, error) {
	w := &Watcher{program: program, urls: urls, timeout: timeout, news: func() {}}
	for _, u := range urls {
		target, err := cluster.ParseURL(u, cluster.Sources{ReadFile: os.ReadFile, Env: os.Getenv})
		if err != nil {
			return nil, fmt.Errorf("--cluster: %w", err)
		}
		w.last = append(w.last, Cluster{Engine: target.String(), Locks: []Lock{}})
	}
	return w, nil
}

// OnNews lets somebody be told of each change, in place of who was told before.
func (w *Watcher) OnNews(news func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.news = news
}

// Last is what is known now, and a number that rises with each change. Nothing is
// waited for. A nil watcher knows nothing.
func (w *Watcher) Last() ([]Cluster, uint64) {
	if w == nil {
		return nil, 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.last), w.revision
}

// Want says that somebody wants to know: the engines are asked beside it, unless they
// were just now. With ctx the question ends.
func (w *Watcher) Want(ctx context.Context) {
	if w == nil || len(w.urls) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking || time.Since(w.asked) < every {
		return
	}
	w.asking, w.asked = true, time.Now()
	go w.askAll(ctx)
}

// askAll asks each engine; none waits for another one.
func (w *Watcher) askAll(ctx context.Context) {
	var all sync.WaitGroup
	for i := range w.urls {
		all.Go(func() { w.take(i, w.ask(ctx, w.urls[i])) })
	}
	all.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asking = false
}

// take takes in an answer.
func (w *Watcher) take(i int, now Cluster) {
	w.mu.Lock()
	before := w.last[i]
	now.Engine = before.Engine
	if now.Trouble != "" {
		now.Locks, now.LeftOut, now.Answered = before.Locks, before.LeftOut, before.Answered
	}
	for k := range now.Locks {
		l := &now.Locks[k]
		j, known := slices.BinarySearchFunc(before.Locks, l.Name, func(b Lock, name string) int { return strings.Compare(b.Name, name) })
		switch {
		case !l.Held() || !l.Since.IsZero():
		case known && before.Locks[j].Token == l.Token && !before.Locks[j].Since.IsZero():
			l.Since = before.Locks[j].Since
		default:
			l.Since = now.Answered
		}
	}
	w.last[i] = now
	changed := before.Answered.IsZero() != now.Answered.IsZero() || before.Trouble != now.Trouble ||
		!slices.EqualFunc(before.Locks, now.Locks, func(a, b Lock) bool { a.Until, b.Until = time.Time{}, time.Time{}; return a == b })
	if changed {
		w.revision++
	}
	news := w.news
	w.mu.Unlock()
	if changed {
		news()
	}
}

// said is one line of the program's answer.
type said struct {
	Lock
	Left  float64 `json:"left"`
	Since string  `json:"since"` // in place of that of Lock: somebody may have written anything
}

// ask asks one engine once.
func (w *Watcher) ask(ctx context.Context, url string) (c Cluster) {
	ctx, stop := context.WithTimeout(ctx, w.timeout+time.Second) // its own limit comes first, with the reason
	defer stop()
	cmd := exec.CommandContext(ctx, w.program, "status", "--cluster", url, "--all", "--json", "--timeout", w.timeout.String())
	var errs bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &limited{&errs, 4096}, time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Cluster{Trouble: err.Error()}
	}
	bad := c.read(io.LimitReader(out, mostText), time.Now().UTC())
	if bad != nil && ctx.Err() == nil {
		stop() // it may go on for ever
		cmd.Wait()
		c.Trouble = "its answer cannot be read: " + bad.Error()
		return c
	}
	io.Copy(io.Discard, out)
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		c.Trouble = fmt.Sprintf("it did not answer within %s", w.timeout)
	case err != nil:
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		c.Trouble = strings.TrimPrefix(first, "solehold-cluster: ")
		if c.Trouble == "" {
			c.Trouble = err.Error()
		}
	}
	return c
}

// read reads an answer, a lock a line.
func (c *Cluster) read(from io.Reader, now time.Time) error {
	c.Locks, c.Answered = []Lock{}, now
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		var s said
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return err
		}
		if s.Name == "" || s.State == "" {
			return errors.New("a line that is no lock")
		}
		if len(c.Locks) == MostLocks {
			c.LeftOut++
			continue
		}
		if s.Left > 0 {
			s.Until = now.Add(time.Duration(s.Left * float64(time.Second))).Truncate(time.Second)
		}
		s.Host = hostIn(s.Info)
		if since, err := time.Parse(time.RFC3339, s.Since); err == nil && s.Held() {
			s.Lock.Since = since
		}
		c.Locks = append(c.Locks, s.Lock)
	}
	slices.SortFunc(c.Locks, func(a, b Lock) int { return strings.Compare(a.Name, b.Name) })
	return lines.Err()
}

// hostIn finds the machine in what a run says of itself: "kb on host db1, pid 7, /srv/kb".
func hostIn(info string) string {
	_, rest, ok := strings.Cut(info, " on host ")
	host, _, more := strings.Cut(rest, ", pid ")
	if !ok || !more {
		return ""
	}
	return host
}

// limited keeps the beginning of what is written.
type limited struct {
	to   *bytes.Buffer
	left int
}

// Write takes everything, and keeps what there is room for.
func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.left -= n
	l.to.Write(b[:n])
	return len(b), nil
}
