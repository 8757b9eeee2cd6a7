package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// format is the version of the texts that are written to engines.
const format = 1

// The bounds of what is written to engines.
const (
	maxName = 512
	maxInfo = 2048
)

// ErrName is wrapped by the error for a name that cannot be a lock.
var ErrName = errors.New("cannot be the name of a lock")

// CheckName refuses what no lock can be called. Slashes, spaces and dots are fine: engines write a name with [EscapeName],
// so that no name lies below another one.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("an empty text %w", ErrName)
	case len(name) > maxName:
		return fmt.Errorf("a text of %d bytes %w: at most %d", len(name), ErrName, maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%.80q %w: it is not UTF-8 or has control characters", name, ErrName)
	}
	return nil
}

// EscapeName writes a name so that it is one segment of a path, of letters, digits and -_.~%. No two names are written
// alike, and none as "." or "..".
func EscapeName(name string) string {
	const hex = "0123456789ABCDEF"
	dots := strings.Trim(name, ".") == ""
	var b strings.Builder
	for _, c := range []byte(name) {
		if c == '.' && !dots || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '~' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// Record is what is written about a claim. It is the value of the claim while it is held, and, with Ended, of what is left
// of it for the successor.
type Record struct {
	// Format is 1.
	Format int `json:"solehold"`
	// Nonce is the claim's.
	Nonce string `json:"nonce"`
	// DelayMS is the lock-delay for the successor in milliseconds.
	DelayMS int64 `json:"delay_ms"`
	// Info is the holder's word about itself.
	Info string `json:"info,omitempty"`
	// Ended says that the work of this tenure had ended when it was released.
	Ended bool `json:"ended,omitempty"`
	// Broken is why an operator has broken the claim, and who; "" if nobody has.
	Broken string `json:"broken,omitempty"`
	// Since is when the claim was made, by the clock of its holder.
	Since string `json:"since,omitempty"`

	// Sticky says that the claim has no lease: nobody gets it but by a break.
	Sticky bool `json:"sticky,omitempty"`
	// Place is where it is used. A claim is at one place, so that copies of a disk cannot both have it.
	Place string `json:"place,omitempty"`
	// Seen is when the holder was last there, by its own clock: it is written once in a while, beside the claim.
	Seen string `json:"seen,omitempty"`
}

// RecordOf gives what is to be written for a claim.
func RecordOf(r Request) Record {
	info := r.Info
	if len(info) > maxInfo {
		info = strings.ToValidUTF8(info[:maxInfo], "")
	}
	rec := Record{Format: format, Nonce: r.Nonce, DelayMS: r.Delay.Milliseconds(), Info: info, Since: r.Since}
	if r.Place != "" {
		rec.Sticky, rec.Place, rec.Seen = true, r.Place, r.Since
	}
	return rec
}

// Text gives the record as it is written.
func (r Record) Text() string {
	b, err := json.Marshal(r)
	if err != nil { // a struct of texts and numbers
		return ""
	}
	return string(b)
}

// ParseRecord reads what was written. It fails for what solehold did not write.
func ParseRecord(text string) (Record, error) {
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Record{}, err
	}
	if r.Format < 1 || r.Nonce == "" || r.DelayMS < 0 {
		return Record{}, errors.New("not a record of solehold")
	}
	return r, nil
}

// GrantAfter gives the grant of a claim whose predecessor left this text; "" is none. What cannot be read asks for a
// delay: somebody was there.
func GrantAfter(token uint64, last string) Grant {
	r, err := ParseRecord(last)
	if last == "" {
		return Grant{Token: token, Clean: true}
	}
	return Grant{Token: token, Clean: err == nil && r.Ended, Delay: min(time.Duration(r.DelayMS)*time.Millisecond, time.Hour)}
}

// HeldBy gives the error for a lock whose claim is this text at this key.
func HeldBy(name, key, text string, token uint64) *HeldError {
	r, err := ParseRecord(text)
	return &HeldError{Name: name, Key: key, Info: r.Info, Token: token, Foreign: err != nil, Sticky: r.Sticky, Since: r.Since}
}
