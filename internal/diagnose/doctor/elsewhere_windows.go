package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose"
)

func able(o Options) error {
	switch {
	case len(o.Paths) == 0:
		return unable("tell of all locks of the computer: name the files or directories in question")
	case o.PID != 0, o.MaxAge != 0:
		return unable("tell what a process waits for, or for how long a lock is held")
	}
	return nil
}

// examine asks the Restart Manager, which installers use to find out who has the
// files open that they want to replace.
func examine(ctx context.Context, o Options) (Report, bool) {
	r := Report{Findings: []Finding{}, Gaps: []Gap{}}
	seen := map[int]bool{}
	for _, path := range o.Paths {
		if full, err := filepath.Abs(path); err == nil {
			path = full
		}
		q := diagnose.Question{Path: path, Op: "look who has files of it open", Limit: o.Timeout}
		s, err := diagnose.Ask(ctx, q, func() (Subject, error) { return lookAt(ctx, path) })
		if err != nil {
			s.Path = path
			r.Gaps = append(r.Gaps, Gap{What: "who has files of " + path + " open", Why: err.Error(), NotRun: true})
		}
		r.Paths = append(r.Paths, s)
		for _, p := range s.Holders {
			seen[p.PID] = true
		}
	}
	r.Seen.Processes = len(seen)
	return r, true
}

func lookAt(ctx context.Context, path string) (Subject, error) {
	s := Subject{Path: path, Kind: "file"}
	st, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if st.IsDir() {
		s.Kind = "data directory"
		if held, err := solehold.Inspect(ctx, path, nil); err == nil {
			s.State = string(held.State)
			if held.Owner != nil {
				s.Notes = append(s.Notes, "owner: "+held.Owner.String())
			}
		}
	}
	files, err := filesAt(ctx, path)
	if err != nil {
		return s, err
	}
	if len(files) == mostFiles {
		s.Notes = append(s.Notes, fmt.Sprintf("only its first %d files were asked about", mostFiles))
	}
	s.Holders, err = usersOf(files)
	for _, u := range s.Holders {
		s.Notes = append(s.Notes, fmt.Sprintf("pid %d (%s), started %s, has files of it open", u.PID, solehold.Printable(u.Command), u.Started.Format(time.RFC3339)))
	}
	return s, err
}
