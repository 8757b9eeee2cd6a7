package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ticks is how many clock ticks of /proc make a second, on all usual systems.
const ticks = 100

// copies says whether another process of the same executable has the same data
// directory open: a second copy of a service is often what the first one waits for.
func (s *scene) copies() (string, error) {
	if len(s.r.PIDs) == 0 || s.r.Subject == "" {
		return "", nil
	}
	first := s.r.PIDs[0]
	exe, err := s.proc.Exe(first)
	if err != nil {
		return "", fmt.Errorf("the executable of pid %d: %w", first, err)
	}
	dir, err := filepath.EvalSymlinks(s.r.Subject)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // nobody works in it by that name
	}
	if err != nil {
		return "", err
	}
	pids, err := s.proc.Pids()
	if err != nil {
		return "", err
	}
	found := []int{first}
	for _, pid := range pids {
		other, err := s.proc.Exe(pid)
		if err == nil && other == exe && !slices.Contains(s.r.PIDs, pid) && s.worksIn(pid, dir) {
			found = append(found, pid)
		}
	}
	if len(found) == 1 {
		return "", nil
	}
	return s.tellCopies(exe, found), nil
}

func (s *scene) tellCopies(exe string, pids []int) string {
	var each []string
	for _, pid := range pids[:min(len(pids), 8)] {
		text := fmt.Sprintf("pid %d (%s)", pid, short(s.command(pid)))
		if started, err := s.started(pid); err == nil {
			text += " started " + started.UTC().Format("2006-01-02 15:04:05Z")
		}
		each = append(each, text)
	}
	return fmt.Sprintf("There are %d copies of %s on one directory: %s.", len(pids), printable(filepath.Base(exe)), strings.Join(each, ", "))
}

// worksIn reports whether a process has the directory or a file below it open.
func (s *scene) worksIn(pid int, dir string) bool {
	inside := func(path string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	}
	if cwd, err := s.proc.Cwd(pid); err == nil && inside(cwd) {
		return true
	}
	fds, _ := s.proc.FDs(pid)
	return slices.ContainsFunc(fds, func(fd int) bool {
		target, err := s.proc.FDTarget(pid, fd)
		return err == nil && inside(target)
	})
}

// started is the wall clock time at which a process started.
func (s *scene) started(pid int) (time.Time, error) {
	st, err := s.proc.Stat(pid)
	if err != nil {
		return time.Time{}, err
	}
	text, err := s.proc.System("stat")
	_, rest, found := strings.Cut(text, "\nbtime ")
	if err != nil || !found {
		return time.Time{}, errors.Join(err, errors.New("no btime"))
	}
	line, _, _ := strings.Cut(rest, "\n")
	boot, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	return time.Unix(boot+int64(st.StartTicks/ticks), 0), err
}
