package procfs

import (
	"bytes"
	"strconv"
	"strings"
)

// Mapping is a removed file that a process has in its memory. See proc_pid_maps(5).
type Mapping struct {
	// Range is the part of the address space, as the kernel names it.
	Range string
	// FileID is the file, with the device of its file system.
	FileID
	// Path is where it was.
	Path string
}

// deletedMark is what the kernel appends to the path of a removed file.
const deletedMark = " (deleted)"

// RemovedMappings reads those lines of /proc/N/maps that show a removed file, once for each file. It needs the right to
// inspect the process. buf is used for reading if it is large enough, and returned for the next process.
func (f FS) RemovedMappings(pid int, buf []byte) ([]Mapping, []byte, error) {
	raw, err := f.read(dir(pid)+"/maps", listLimit, buf)
	return parseMappings(raw), raw[:0], err
}

// MappedPath is the path of a lock's file in a process' memory, empty if it has no part of that. A mapping keeps the file
// open, and with it a lock of it, when every descriptor is closed.
func (f FS) MappedPath(pid int, l Lock) (string, error) {
	raw, err := f.read(dir(pid)+"/maps", listLimit, nil)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(raw)) {
		if m, ok := parseMapping(strings.TrimSuffix(line, "\n")); ok && m.FileID == l.FileID() {
			return m.Path, nil
		}
	}
	return "", nil
}

// parseMappings skips what it does not understand: lines of memory have no file.
func parseMappings(text []byte) []Mapping {
	var found []Mapping
	var seen map[FileID]bool // made for the few processes that have one
	for len(text) > 0 {
		end := bytes.Index(text, []byte(deletedMark+"\n"))
		if end < 0 {
			return found
		}
		begin := bytes.LastIndexByte(text[:end], '\n') + 1
		if m, ok := parseMapping(string(text[begin:end])); ok && !seen[m.FileID] {
			if seen == nil {
				seen = map[FileID]bool{}
			}
			seen[m.FileID] = true
			found = append(found, m)
		}
		text = text[end+len(deletedMark)+1:]
	}
	return found
}

// parseMapping reads "7f00-7f01 rw-s 00000000 08:02 1234   /path".
func parseMapping(line string) (Mapping, bool) {
	fields := strings.Fields(line)
	slash := strings.IndexByte(line, '/')
	if len(fields) < 6 || slash < 0 {
		return Mapping{}, false
	}
	var c columns
	major, minor, _ := strings.Cut(fields[3], ":")
	m := Mapping{
		Range:  fields[0],
		FileID: FileID{Dev: device(c.uint32(major, 16), c.uint32(minor, 16)), Ino: c.uint(fields[4], 10)},
		Path:   line[slash:],
	}
	return m, c.err == nil
}

// Mapped tells about the file of a mapping. It needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
func (f FS) Mapped(pid int, m Mapping) (File, error) {
	return f.describe(dir(pid) + "/map_files/" + m.Range)
}

// Watch is a file that an inotify descriptor watches.
type Watch struct {
	// FileID is the file, with the device of its file system.
	FileID
}

// Watches reads what an inotify descriptor watches; nothing for another kind of descriptor.
func (f FS) Watches(pid, fd int) ([]Watch, error) {
	return load(f, fdinfoName(pid, fd), smallLimit, parseWatches)
}

// parseWatches takes the lines "inotify wd:1 ino:9e7e sdev:800013 mask:...", all numbers hexadecimal.
func parseWatches(text string) ([]Watch, error) {
	var watches []Watch
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "inotify ")
		if !ok {
			continue
		}
		var w Watch
		for word := range strings.FieldsSeq(rest) {
			key, value, _ := strings.Cut(word, ":")
			n, err := strconv.ParseUint(value, 16, 64)
			switch {
			case key != "ino" && key != "sdev":
			case err != nil:
				return nil, malformed(line, errColumns)
			case key == "ino":
				w.Ino = n
			default: // the kernel's own packing: twelve bits and twenty
				w.Dev = device(uint32(n>>20), uint32(n&0xfffff))
			}
		}
		watches = append(watches, w)
	}
	return watches, nil
}
