package procfs

import "strings"

// Cgroup is one line of /proc/N/cgroup: the process' place in one hierarchy. See cgroups(7).
type Cgroup struct {
	// Hierarchy is 0 for the unified hierarchy (version 2), and a number of the mount's for version 1.
	Hierarchy int
	// Controllers are those of a version 1 hierarchy, "name=systemd" for a named one; none for version 2.
	Controllers []string
	// Path is relative to the root of the reader's cgroup namespace, "/" for that itself; units and containers are read
	// off it.
	Path string
}

// Cgroups reads /proc/N/cgroup: one entry for version 2, several for version 1, both on a hybrid system.
func (f FS) Cgroups(pid int) ([]Cgroup, error) {
	return load(f, dir(pid)+"/cgroup", smallLimit, parseCgroups)
}

// parseCgroups can go by lines, because the kernel refuses to make a cgroup with a newline in its name.
func parseCgroups(text string) ([]Cgroup, error) {
	var groups []Cgroup
	for line := range strings.Lines(text) {
		group, err := parseCgroup(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// parseCgroup leaves colons in the path alone.
func parseCgroup(line string) (Cgroup, error) {
	cols := strings.SplitN(line, ":", 3)
	if len(cols) != 3 {
		return Cgroup{}, malformed(line, errColumns)
	}
	var c columns
	group := Cgroup{Hierarchy: c.int(cols[0]), Path: cols[2]}
	if cols[1] != "" {
		group.Controllers = strings.Split(cols[1], ",")
	}
	return group, c.in(line)
}
