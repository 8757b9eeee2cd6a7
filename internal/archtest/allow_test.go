package archtest_test

import (
	"strings"
	"testing"
)

// TestAllowCovers has one exception in each place that a comment can stand.
func TestAllowCovers(t *testing.T) {
	expect(t, "panic", `
-- a/a.go --
package a

func behind() {
	panic(1) //archtest:allow panic it stands behind
}

func before() {
	//archtest:allow panic it stands before
	panic(2)
}

func oneLineTooFar() {
	//archtest:allow panic it covers the next line only

	panic(3)
}

func behindCoversNoOtherLine() {
	f() //archtest:allow panic it covers this line only
	panic(4)
}

func otherRule() {
	//archtest:allow exit the rule is another
	panic(5)
}

func noReason() {
	panic(6) //archtest:allow panic
}
`, "a/a.go:15: panic: panic", "a/a.go:20: panic: panic", "a/a.go:25: panic: panic", "a/a.go:29: panic: panic")
}

func TestAllowInDocComment(t *testing.T) {
	const many = `
-- a/a.go --
package a

// f has a doc comment
// of two lines.
//
//archtest:allow params the five are the fields of a system call
func f(a, b, c, d, e int) {}
`
	expect(t, "params", many)
	expect(t, "allow", many)
}

func TestAllowOnImport(t *testing.T) {
	const one = `
-- internal/oslock/a.go --
package oslock

import (
	"os"

	//archtest:allow imports until the record is split
	_ "github.com/solehold/solehold/internal/record"
	_ "github.com/solehold/solehold/internal/journal"
)
`
	expect(t, "imports", one, "internal/oslock/a.go:8: imports: internal/oslock may not import internal/journal: a leaf knows one thing and no name above it")
	expect(t, "allow", one)
}

func TestAllowIsForOneFile(t *testing.T) {
	expect(t, "init", `
-- a/a.go --
package a
//archtest:allow init the other file has one
var x int
-- a/b.go --
package a
//

func init() {}
`, "a/b.go:4: init: func init")
}

// TestAllowKeepsBudget has an exception at each of the places over a budget of none.
func TestAllowKeepsBudget(t *testing.T) {
	const one = `
-- a/a.go --
package a

//archtest:allow vars one table for all parsers, 2 KiB
var table [256]uint64

var other int //archtest:allow vars a test hook
`
	expect(t, "vars", one)
	expect(t, "allow", one)
}

// TestAllowCountsForShare has three undocumented fields of forty, one more than the budget, and allows one of them.
func TestAllowCountsForShare(t *testing.T) {
	with := strings.Repeat("\tF int // F has a comment.\n", 37)
	archive := "-- a/a.go --\npackage a\n\ntype T struct {\n" + with + "\tX, Y int\n\n//\n\tZ int\n}\n"
	expect(t, "field", archive, "a/a.go:41: field: T.X has no comment", "a/a.go:41: field: T.Y has no comment", "a/a.go:44: field: T.Z has no comment")
	expect(t, "field", strings.Replace(archive, "\n//\n", "\n//archtest:allow field the name is the wire format's\n", 1))
}

// TestAllowIsStillNeeded has an exception that a later change made useless.
func TestAllowIsStillNeeded(t *testing.T) {
	expect(t, "allow", `
-- a/a.go --
package a

var Err error //archtest:allow vars errors do not count

//archtest:allow
func f() {}
`, "a/a.go:3: allow: nothing here breaks vars: remove the exception", `a/a.go:5: allow: no rule is called ""`)
}

// TestAllowSpelling has words that only look like an exception.
func TestAllowSpelling(t *testing.T) {
	expect(t, "allow", `
-- a/a.go --
package a

// archtest:allow init with a space it is prose
// Write //archtest:allow RULE reason beside the place.
const text = "//archtest:allow init in a string"
`)
}
