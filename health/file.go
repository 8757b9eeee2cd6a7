package health

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// clockSlack is how far a fresh file's time may lie in the future: file systems keep it coarsely.
const clockSlack = time.Second

// fileProbe looks at a heartbeat file.
type fileProbe struct {
	path   string
	maxAge time.Duration
	stuck  stuck

	mu      sync.Mutex
	seen    time.Time     // modification time at the last check
	checked time.Time     // time of the last check that found the file, with monotonic clock
	ageThen time.Duration // age of the file then
	future  bool          // its age is not known, as it came from the future
}

// File gives a probe that looks at the modification time of a heartbeat file at an absolute path: OK if it is not older
// than maxAge, [Fail] if it is, or if there is no such file. A file that cannot be looked at is [Unknown].
//
// The first check compares with the wall clock, so the file's clock must be this machine's. From then on the age grows
// with the monotonic clock, and a file whose time has changed was touched since the last check: stepping the wall
// clock neither ages nor renews a file. A file from the future is Unknown until its time changes, or until it has not changed
// for maxAge. Time in suspend does not count.
//
// The error is about the path or maxAge.
func File(path string, maxAge time.Duration) (Probe, error) {
	switch {
	case path == "":
		return nil, wrong(path, "no path")
	case !filepath.IsAbs(path):
		return nil, wrong(path, "path is relative: say /PATH")
	case maxAge <= 0:
		return nil, wrong(path, "maximum age %s: must be positive", maxAge)
	}
	return &fileProbe{path: path, maxAge: maxAge}, nil
}

// String gives for example "file /run/kb/alive".
func (p *fileProbe) String() string { return Line("file " + p.path) }

// Check looks once.
func (p *fileProbe) Check(ctx context.Context) Result {
	c, cancel := begin(ctx)
	defer cancel()
	st, err := waited(c.ctx, &p.stuck, func() (fs.FileInfo, error) { return os.Stat(p.path) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.forget()
		return c.end(Fail, "no such file")
	case err != nil:
		return c.end(Unknown, "the file cannot be looked at: %s", words(err))
	}
	age, sure := p.age(st.ModTime(), time.Now())
	switch {
	case age > p.maxAge:
		return c.end(Fail, "file not touched for %s, longer than %s", short(age), short(p.maxAge))
	case !sure:
		return c.end(Unknown, "the file's time lies %s in the future", short(time.Until(st.ModTime())))
	}
	return c.end(OK, "file touched %s ago", short(age))
}

func (p *fileProbe) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.checked = time.Time{}, time.Time{}
}

// age gives how long ago the file was touched, and whether that is known: of a file from the future only how long it has
// not changed is known.
func (p *fileProbe) age(touched, now time.Time) (age time.Duration, sure bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wall, since := now.Round(0).Sub(touched), now.Sub(p.checked)
	switch {
	case p.checked.IsZero():
		age, sure = max(wall, 0), wall >= -clockSlack
	case touched.Equal(p.seen):
		age, sure = p.ageThen+since, !p.future
	case wall >= 0 && wall <= since:
		age, sure = wall, true
	default:
		age, sure = 0, true // touched since the last check, by a clock that does not fit
	}
	p.seen, p.checked, p.ageThen, p.future = touched, now, age, !sure
	return age, sure
}
