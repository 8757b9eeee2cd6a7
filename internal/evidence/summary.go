package evidence

import (
	"fmt"
	"strings"
)

// summary is the page that people open first: what was seen, then what was
// done, then what is missing.
func summary(in Incident, r Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", in.Finding)
	if in.Copies != "" {
		fmt.Fprintf(&b, "%s\n", in.Copies)
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "| | |\n| --- | --- |\n")
	fmt.Fprintf(&b, "| directory | %s |\n| token | %d |\n| taken | %s, in %.1f s |\n| because | %s |\n| processes | %s |\n",
		in.Subject, in.Token, in.Time.Format("2006-01-02 15:04:05.000Z"), in.Took, in.Reason, numbers(in.PIDs))
	if len(r.Probe) > 0 {
		fmt.Fprintf(&b, "\nLast answers of the probe:\n\n")
		for _, line := range r.Probe[max(0, len(r.Probe)-5):] {
			fmt.Fprintf(&b, "    %s\n", printable(line))
		}
	}
	if tail := lastLines(r.Output, 20); tail != "" {
		fmt.Fprintf(&b, "\nLast lines of output:\n\n%s", indent(tail))
	}
	if len(in.Missing) > 0 {
		fmt.Fprintf(&b, "\nMissing:\n\n")
		for _, m := range in.Missing {
			fmt.Fprintf(&b, "- %s\n", m)
		}
	}
	return b.String()
}

func numbers(pids []int) string {
	var b strings.Builder
	for i, pid := range pids {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == 20 {
			fmt.Fprintf(&b, "and %d more", len(pids)-i)
			break
		}
		fmt.Fprintf(&b, "%d", pid)
	}
	return b.String()
}

// lastLines is the end of an output, fit for a page: bounded, since one line may
// be as long as all of it.
func lastLines(output []byte, n int) string {
	const most = 8 << 10
	lines := strings.Split(strings.TrimSuffix(string(output[max(0, len(output)-most):]), "\n"), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, line := range lines {
		lines[i] = printable(strings.ReplaceAll(line, "\t", "  "))
	}
	return strings.Join(lines, "\n")
}
