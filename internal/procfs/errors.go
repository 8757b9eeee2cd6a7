package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// ErrTooLarge is inside a [*ParseError] of a file beyond the limit of this package. No part of it is returned, because a
// part of a list of locks would read as "not locked".
var ErrTooLarge = errors.New("file too large")

var (
	errColumns = errors.New("unexpected columns")
	errComm    = errors.New("no name in parentheses")
	errEmpty   = errors.New("empty")
	errLink    = errors.New("not of the form kind:[number]")
	errNoFlags = errors.New("no flags line")
)

// maxText bounds the text that a ParseError keeps, for errors end up in logs.
const maxText = 200

// ParseError says that a file in /proc does not look as documented in proc(5). It is a defect of this package or of an
// emulated /proc, never a matter of rights or of a process that ended.
type ParseError struct {
	// File is the path below the root of the file system, such as "12/stat", as in the errors of [io/fs].
	File string
	// Text is the line in question, or the beginning of it; empty if the file as a whole is refused.
	Text string
	// Err is the reason.
	Err error
}

// Error quotes the text, since names of processes may hold control characters.
func (e *ParseError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("parse %s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("parse %s: %v in %q", e.File, e.Err, e.Text)
}

// Unwrap gives the reason, so that [errors.Is] finds [ErrTooLarge].
func (e *ParseError) Unwrap() error { return e.Err }

// malformed is a ParseError that has yet to learn its file.
func malformed(text string, reason error) error {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return &ParseError{Text: strings.Clone(text), Err: reason}
}

// inFile tells a parser's error which file it was.
func inFile(name string, err error) error {
	if parse, ok := errors.AsType[*ParseError](err); ok {
		parse.File = name
	}
	return err
}

// Gap is something that a scan could not read. A process that ended during the scan is none: it holds nothing any more.
type Gap struct {
	// PID is the process; 0 if it was asked for as self, or if the list of processes itself was not readable.
	PID int
	// What is the file or folder of the process, such as "fdinfo", or "processes" for their list.
	What string
	// Err is the reason, with the path; [fs.ErrPermission] is by far the usual one.
	Err error
}

// String is one line for people, such as "fdinfo of pid 12: permission denied".
func (g Gap) String() string {
	reason := g.Err
	if path, ok := errors.AsType[*fs.PathError](reason); ok {
		reason = path.Err // the path would repeat what the line says
	}
	if g.PID == 0 {
		return fmt.Sprintf("%s: %v", g.What, reason)
	}
	return fmt.Sprintf("%s of pid %d: %v", g.What, g.PID, reason)
}

// Gaps are all gaps of a scan. Empty means that the scan saw each process that it could list.
type Gaps []Gap

// columns converts the columns of a line; the first error sticks, so that a parser asks once, at its end.
type columns struct {
	err error
}

// int reads a signed decimal.
func (c *columns) int(s string) int {
	n, err := strconv.Atoi(s)
	c.note(err)
	return n
}

// uint reads 64 bits of the given base.
func (c *columns) uint(s string, base int) uint64 {
	n, err := strconv.ParseUint(s, base, 64)
	c.note(err)
	return n
}

// uint32 reads 32 bits: a user, or half a device number.
func (c *columns) uint32(s string, base int) uint32 {
	n, err := strconv.ParseUint(s, base, 32)
	c.note(err)
	return uint32(n)
}

// note keeps the first error, without strconv's copy of the text: the ParseError has the line.
func (c *columns) note(err error) {
	if err == nil || c.err != nil {
		return
	}
	if num, ok := errors.AsType[*strconv.NumError](err); ok {
		err = fmt.Errorf("number %q: %w", strings.Clone(num.Num[:min(len(num.Num), maxText)]), num.Err)
	}
	c.err = err
}

// in is the error of the line, if any column had one.
func (c *columns) in(line string) error {
	if c.err == nil {
		return nil
	}
	return malformed(line, c.err)
}
