package procfs

import "strconv"

// Text reads a file of a process as it is, such as "limits" or "task/12/syscall". It is for those who keep evidence and
// show it to people; what is decided upon has a parser of its own.
func (f FS) Text(pid int, name string) (string, error) {
	raw, err := f.read(dir(pid)+"/"+name, smallLimit, nil)
	return string(raw), err
}

// System reads a file that belongs to no process, such as "loadavg" or "pressure/memory".
func (f FS) System(name string) (string, error) {
	raw, err := f.read(name, smallLimit, nil)
	return string(raw), err
}

// ThreadStat reads /proc/N/task/T/stat: a thread has a state and a name of its own.
func (f FS) ThreadStat(pid, tid int) (Stat, error) {
	return load(f, dir(pid)+"/task/"+strconv.Itoa(tid)+"/stat", smallLimit, parseStat)
}
