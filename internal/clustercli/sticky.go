package clustercli

import (
	"fmt"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/internal/diagnose/doctor"
)

// stickyText says what is known of a sticky claim. Its times are those of the holder's clock.
func stickyText(s cluster.Seen) string {
	text := fmt.Sprintf("sticky since %s: nobody gets it without a break; its holder was last seen at %s", s.Since, s.SeenAt)
	if s.Idle {
		return text + ", and nothing worked under it then"
	}
	return text
}

// knew is what an operator is told after a break: what was known of the holder, and what must be so.
func knew(s cluster.Seen) string {
	return solehold.Printable(fmt.Sprintf("  it was %.300s, since %.40s, and was last seen at %.40s by its own clock", s.Info, s.Since, s.SeenAt)) + "\n" +
		"  a host that cannot reach the engine works on until it can: it must be dead or fenced, and stay so\n" +
		"  until its run has said that the claim was broken\n"
}

// unseenAfter is how old the last word of a holder is before it is worth a look: it writes one each minute.
const unseenAfter = 15 * time.Minute

// unseen are sticky claims whose holder works, as far as is known, and has not been there for a while.
func (e examined) unseen() doctor.Finding {
	var lines []string
	for _, s := range e.locks {
		at, err := time.Parse(time.RFC3339, s.SeenAt)
		if s.Sticky && !s.Idle && err == nil && time.Since(at) > unseenAfter {
			lines = append(lines, fmt.Sprintf("lock %q, token %d, since %s: last seen %s ago: %.100s", s.Name, s.Token, s.Since, time.Since(at).Round(time.Minute), s.Info))
		}
	}
	if len(lines) == 0 {
		return doctor.Finding{}
	}
	return doctor.Finding{
		ID: "SH111", Severity: doctor.Danger, Title: "a sticky claim whose holder was not seen for a while", Evidence: some(lines),
		Advice: "nobody else can have that lock: mend the way from its host to the engine, or, when the host is surely dead or fenced, solehold cluster break",
	}
}
