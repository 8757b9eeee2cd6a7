package procid

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/solehold/solehold/internal/procfs"
)

// Origin tells how a process came to run.
type Origin struct {
	// By is the short form for people.
	By string
	// Unit is the systemd unit, Invocation systemd's id of this start.
	Unit       string
	Invocation string
	// Container is the id of the container.
	Container string
	// TTY is the device number of the terminal, 0 without one.
	TTY int
	// Parents is the chain of parents, nearest first, as "pid name".
	Parents []string
}

// maxParents bounds the chain: what is further up says nothing about a start.
const maxParents = 6

// OriginOf finds out how a process was started; pid 0 is this one. It never
// fails: what cannot be read is left out.
func OriginOf(proc procfs.FS, pid int) Origin {
	var o Origin
	if pid == 0 {
		o.Invocation = os.Getenv("INVOCATION_ID")
	}
	if stat, err := proc.Stat(pid); err == nil {
		o.TTY = stat.TTY
	}
	if groups, err := proc.Cgroups(pid); err == nil {
		o.Unit, o.Container = placeOf(groups)
	}
	parents := proc.Ancestors(pid)
	for _, p := range parents[:min(len(parents), maxParents)] {
		o.Parents = append(o.Parents, fmt.Sprintf("%d %s", p.PID, p.Comm))
	}
	if o.By = o.short(parents); o.By == "" {
		o.By = startedBy(pid)
	}
	return o
}

func (o Origin) short(parents []procfs.Stat) string {
	var nearest string
	if len(parents) > 0 {
		nearest = fmt.Sprintf("%s, pid %d", parents[0].Comm, parents[0].PID)
	}
	switch {
	case strings.HasSuffix(o.Unit, ".service"):
		return o.Unit
	case o.Container != "":
		return "container " + o.Container[:min(12, len(o.Container))]
	case o.TTY != 0 && nearest != "":
		return "terminal " + terminal(o.TTY) + " (" + nearest + ")"
	}
	return nearest
}

// terminal names a terminal by its device number (devices.txt: 136 to 143 are
// the pseudo terminals, 4 the consoles).
func terminal(dev int) string {
	major, minor := dev>>8&0xfff, dev&0xff|dev>>12&0xfff00
	switch {
	case major >= 136 && major <= 143:
		return fmt.Sprintf("pts/%d", (major-136)<<8|minor)
	case major == 4 && minor < 64:
		return fmt.Sprintf("tty%d", minor)
	}
	return fmt.Sprintf("%d:%d", major, minor)
}

// placeOf reads unit and container off the cgroup path, deepest first.
func placeOf(groups []procfs.Cgroup) (unit, container string) {
	for _, g := range groups {
		for p := g.Path; p != "/" && p != "." && p != ""; p = path.Dir(p) {
			base := path.Base(p)
			if container == "" {
				container = hexID(base, 64)
			}
			if unit == "" && (strings.HasSuffix(base, ".service") || strings.HasSuffix(base, ".scope")) {
				unit = base
			}
		}
	}
	return unit, container
}

// MachineID returns the machine's stable id, empty without one: machine-id(5) on
// Linux, MachineGuid on Windows, kern.hostuuid on FreeBSD.
func MachineID() string { return machineID() }

// join makes one bounded line of a command.
func join(command []string) string {
	s := strings.Join(command, " ")
	if len(s) > 120 {
		s = strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

// hexID finds n hexadecimal digits in a row: container engines name things by 64.
func hexID(s string, n int) string {
	run := 0
	for i := range len(s) {
		if c := s[i]; c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			run++
		} else {
			run = 0
		}
		if run == n {
			return s[i-n+1 : i+1]
		}
	}
	return ""
}
