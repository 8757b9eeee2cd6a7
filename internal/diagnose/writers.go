package diagnose

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/procfs"
)

// stateDir is where our own files lie; starters write there without owning anything.
const stateDir = ".solehold"

// writers looks for processes that write into the directory without belonging
// to its owner, and turns the verdict into UNGUARDED or SPLIT. This process is
// none, even if its output was sent to a file there.
func (r *Report) writers() {
	if r.State != solehold.Free && r.State != solehold.Held {
		return
	}
	proc := procfs.Default()
	found := openForWriting(proc, r.Dir)
	strange := slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(pid int) bool {
		return pid == os.Getpid() || r.State == solehold.Held && r.belongs(proc, pid)
	})
	for _, pid := range strange {
		command, _ := proc.Cmdline(pid)
		r.Findings = append(r.Findings, fmt.Sprintf("pid %d (%s) has %s open for writing without the lock",
			pid, solehold.CommandLine(command), solehold.Printable(found[pid])))
	}
	switch {
	case len(strange) == 0:
	case r.State == solehold.Free:
		r.State = solehold.Unguarded
	default:
		r.State = solehold.Split
	}
}

// belongs reports whether a process is the owner's: the owner itself, one that
// shares its lock, or one below the owner or its wrapper. When the owner cannot
// be seen nobody can be told apart from it.
func (r *Report) belongs(proc procfs.FS, pid int) bool {
	o := r.Owner
	if o == nil || !o.Visible() {
		return true
	}
	family := append([]int{o.PID}, o.Sharing...)
	if o.Wrapper != 0 {
		family = append(family, o.Wrapper)
	}
	return slices.Contains(family, pid) || slices.ContainsFunc(proc.Ancestors(pid), func(p procfs.Stat) bool {
		return slices.Contains(family, p.PID)
	})
}

// openForWriting returns the processes that have a file below dir open for
// writing, with one such file each.
func openForWriting(proc procfs.FS, dir string) map[int]string {
	found := map[int]string{}
	prefix := strings.TrimSuffix(dir, "/") + "/"
	proc.EachFD(nil, func(pid, fd int) {
		if found[pid] != "" {
			return
		}
		target, err := proc.FDTarget(pid, fd)
		if err != nil || !strings.HasPrefix(target, prefix) || ofAnother(dir, target) {
			return
		}
		if info, err := proc.FDInfo(pid, fd); err == nil && info.Writable() {
			found[pid] = target
		}
	})
	return found
}

// ofAnother reports whether a file is one of ours, or lies in a data directory
// of its own below dir.
func ofAnother(dir, file string) bool {
	if strings.HasPrefix(file, filepath.Join(dir, stateDir)+"/") {
		return true
	}
	for d := filepath.Dir(file); len(d) > len(dir); d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, stateDir)); err == nil {
			return true
		}
	}
	return false
}
