package supervisors

import (
	"os/exec"
	"strings"
)

// Missing says how to get what is missing, "" when nothing is.
func (k Kind) Missing() string {
	if _, err := exec.LookPath(k.Program); err == nil {
		return ""
	}
	return "there is no " + k.Program + "; get it: apt-get install " + k.Package
}

// Version is that of the Debian package, or what ours says; "" where nobody knows.
func (k Kind) Version() string {
	args := []string{"dpkg-query", "-W", "-f", "${Version}", k.Package}
	if k.Package == "" {
		args = []string{k.Program, "version"}
	}
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(strings.TrimPrefix(first, "solehold "))
}
