package procfs

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Cmdline returns the arguments the process was started with, the program first. It is empty for a zombie and for a
// kernel thread. The process may overwrite it: it is for people to read, never to decide by.
func (f FS) Cmdline(pid int) ([]string, error) {
	return load(f, dir(pid)+"/cmdline", smallLimit, parseCmdline)
}

// Exe returns the path of the program, with " (deleted)" appended by the kernel if it was replaced meanwhile. It needs
// the right to inspect the process; a kernel thread or zombie has none, which is [fs.ErrNotExist].
func (f FS) Exe(pid int) (string, error) { return fs.ReadLink(f.fsys, dir(pid)+"/exe") }

// Cwd returns the working directory, as [FS.Exe] returns the program.
func (f FS) Cwd(pid int) (string, error) { return fs.ReadLink(f.fsys, dir(pid)+"/cwd") }

// Namespace returns the number of the process' namespace of a kind such as "pid", "mnt" or "net". Equal numbers are the
// same namespace, on the same boot.
func (f FS) Namespace(pid int, kind string) (uint64, error) {
	name := dir(pid) + "/ns/" + kind
	target, err := fs.ReadLink(f.fsys, name)
	if err != nil {
		return 0, err
	}
	number, err := parseNamespace(target)
	return number, inFile(name, err)
}

// BootID returns the random id of this boot, in the form of a UUID. All containers of a machine share it.
func (f FS) BootID() (string, error) {
	return load(f, "sys/kernel/random/boot_id", smallLimit, func(text string) (string, error) {
		id := strings.TrimSpace(text)
		if id == "" {
			return "", malformed(text, errEmpty) // an empty id would equal another empty one
		}
		return id, nil
	})
}

// Threads returns the threads of the process, itself among them.
func (f FS) Threads(pid int) ([]int, error) { return f.numbers(dir(pid) + "/task") }

// Wchan returns the kernel function in which the process sleeps, such as "locks_lock_inode_wait"; empty if it runs, or
// if the reader may not know.
func (f FS) Wchan(pid int) (string, error) {
	return load(f, dir(pid)+"/wchan", smallLimit, func(text string) (string, error) {
		name := strings.TrimSpace(text)
		if name == "0" { // the kernel's word for both cases
			name = ""
		}
		return name, nil
	})
}

// Children returns the processes whose parent is pid, ascending. It asks task/*/children, and where the kernel was built
// without that file (CONFIG_PROC_CHILDREN), the stat of each process. A child that is born or ends meanwhile may be
// missing.
func (f FS) Children(pid int) ([]int, error) {
	threads, err := f.Threads(pid)
	if err != nil {
		return nil, err
	}
	var children []int
	listed := false
	for _, thread := range threads {
		name := dir(pid) + "/task/" + strconv.Itoa(thread) + "/children"
		some, err := load(f, name, smallLimit, parseChildren)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread ended, or no thread has this file
		}
		if err != nil {
			return nil, err
		}
		listed = true
		children = append(children, some...)
	}
	if !listed {
		return f.childrenByStat(pid)
	}
	slices.Sort(children)
	return children, nil
}

// childrenByStat finds the children by their parent. Processes that cannot be read are ending.
func (f FS) childrenByStat(pid int) ([]int, error) {
	parent, err := f.Stat(pid)
	if err != nil {
		return nil, err
	}
	pids, err := f.Pids()
	return slices.DeleteFunc(pids, func(child int) bool {
		stat, err := f.Stat(child)
		return err != nil || stat.PPID != parent.PID
	}), err
}

// parseCmdline drops one final NUL only: empty arguments are arguments.
func parseCmdline(text string) ([]string, error) {
	if text == "" {
		return []string{}, nil
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), nil
}

// parseNamespace ignores the kind, for that of "pid_for_children" is "pid".
func parseNamespace(target string) (uint64, error) {
	_, rest, opened := strings.Cut(target, ":[")
	digits, closed := strings.CutSuffix(rest, "]")
	if !opened || !closed {
		return 0, malformed(target, errLink)
	}
	var c columns
	number := c.uint(digits, 10)
	return number, c.in(target)
}

func parseChildren(text string) ([]int, error) {
	var c columns
	var pids []int
	for pid := range strings.FieldsSeq(text) {
		pids = append(pids, c.int(pid))
	}
	return pids, c.in(text)
}
