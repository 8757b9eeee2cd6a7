package drillcli

import (
	"io"
	"time"

	"github.com/solehold/solehold/internal/drill"
)

// Table is the answer for people.
func Table(r drill.Report) string { return table(r) }

// Took is a duration for people.
func Took(seconds float64) string { return took(seconds) }

// Show shows progress on a line, and then clears it.
func Show(to io.Writer, live bool, now drill.Progress) {
	p := progress{to: to, live: live, began: time.Now()}
	p.show(now)
	p.clear()
	p.clear()
}
