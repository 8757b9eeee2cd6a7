package record

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"strconv"
	"time"
)

// trailer is the length of the checksum and the newline at a slot's end.
const trailer = 9

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// slot returns the JSON text of slot i when its checksum is right.
func slot(data []byte, i int) ([]byte, bool) {
	if len(data) < (i+1)*SlotSize {
		return nil, false
	}
	s := data[i*SlotSize : (i+1)*SlotSize]
	body, sum := s[:SlotSize-trailer], s[SlotSize-trailer:SlotSize-1]
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || s[SlotSize-1] != '\n' || uint32(want) != castagnoli(body) {
		return nil, false
	}
	return body, true
}

// untouched reports whether slot i is as [Blank] made it.
func untouched(data []byte, i int) bool {
	return len(data) >= (i+1)*SlotSize && bytes.Equal(data[i*SlotSize:(i+1)*SlotSize], Blank())
}

// seal pads the JSON text to a slot and adds the checksum. The text must fit.
func seal(text []byte) []byte {
	text = pad(text, SlotSize-trailer)
	sum := castagnoli(text)
	const digits = "0123456789abcdef"
	for shift := 28; shift >= 0; shift -= 4 {
		text = append(text, digits[sum>>shift&15])
	}
	return append(text, '\n')
}

// pad fills up with spaces to length n, copying in doubling runs.
func pad(text []byte, n int) []byte {
	from := len(text)
	if from >= n {
		return text
	}
	text = append(text, ' ')
	for len(text) < n {
		run := text[from:]
		text = append(text, run[:min(len(run), n-len(text))]...)
	}
	return text
}

// head reads the first fields of a slot. Ours are written in a fixed order, so
// a starter need not parse the whole object (a fifth of the cost of a start);
// any other order goes through the JSON parser.
func head(line []byte) (Head, bool) {
	if h, ok := fixedHead(line); ok {
		return h, true
	}
	var r struct {
		Format int    `json:"format"`
		Seq    uint64 `json:"seq"`
		Token  uint64 `json:"token"`
		State  State  `json:"state"`
	}
	if json.Unmarshal(line, &r) != nil || r.Format < 1 {
		return Head{}, false
	}
	return Head{Seq: r.Seq, Token: r.Token, State: r.State}, true
}

func fixedHead(line []byte) (h Head, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"format":1,"seq":`))
	if !ok {
		return h, false
	}
	if h.Seq, rest, ok = number(rest, `,"token":`); !ok {
		return h, false
	}
	if h.Token, rest, ok = number(rest, `,"state":"`); !ok {
		return h, false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return h, false
	}
	h.State = State(rest[:end])
	return h, true
}

func number(b []byte, then string) (n uint64, rest []byte, ok bool) {
	digits, rest, ok := bytes.Cut(b, []byte(then))
	if !ok {
		return 0, nil, false
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	return n, rest, err == nil
}

// Encoder writes the records of one holder: the part that does not change is
// turned into JSON once.
type Encoder struct{ holder []byte }

// NewEncoder prepares to write records of h. Command lines, paths and parent
// chains are cut until every record fits a slot.
func NewEncoder(h Holder) *Encoder {
	cut(&h.Process)
	h.Host, h.MachineID, h.User = clip(h.Host, 64), clip(h.MachineID, 64), clip(h.User, 80)
	h.Origin.By, h.Origin.Unit = clip(h.Origin.By, 120), clip(h.Origin.Unit, 120)
	h.Origin.Container, h.Origin.Invocation = clip(h.Origin.Container, 80), clip(h.Origin.Invocation, 64)
	h.Origin.Parents = clipAll(h.Origin.Parents, 300)
	text, err := json.Marshal(h)
	if err != nil {
		text = []byte(`{}`) // cannot happen: the struct holds only strings and numbers
	}
	return &Encoder{holder: text}
}

// Encode returns a whole slot for r, whose Holder is the encoder's.
func (e *Encoder) Encode(r *Record) []byte { return e.Append(make([]byte, 0, SlotSize), r) }

// Append appends a whole slot for r to b, which must be empty.
func (e *Encoder) Append(b []byte, r *Record) []byte {
	b = append(b, `{"format":1,"seq":`...)
	b = strconv.AppendUint(b, r.Seq, 10)
	b = append(b, `,"token":`...)
	b = strconv.AppendUint(b, r.Token, 10)
	b = append(b, `,"state":"`...)
	b = append(b, r.State...)
	b = append(b, `","nonce":"`...)
	b = append(b, r.Nonce...)
	b = append(b, `","acquired":"`...)
	b = r.Acquired.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","acquired_boottime_ns":`...)
	b = strconv.AppendInt(b, r.AcquiredBoottime, 10)
	b = append(b, `,"lock":{"dev":`...)
	b = strconv.AppendUint(b, r.Lock.Dev, 10)
	b = append(b, `,"ino":`...)
	b = strconv.AppendUint(b, r.Lock.Ino, 10)
	b = append(b, `},"mount":{"type":`...)
	b = quoted(b, clip(r.Mount.Type, 32))
	b = append(b, `,"source":`...)
	b = quoted(b, clip(r.Mount.Source, 120))
	b = append(b, `},"name":`...)
	b = quoted(b, clip(r.Name, 64))
	if r.Child != nil {
		child := *r.Child
		cut(&child)
		if text, err := json.Marshal(child); err == nil {
			b = append(append(b, `,"child":`...), text...)
		}
	}
	b = appendCluster(b, r.Cluster)
	b = append(append(append(b, `,"holder":`...), e.holder...), '}')
	return seal(b)
}

func appendCluster(b []byte, c *Cluster) []byte {
	if c == nil {
		return b
	}
	b = quoted(append(b, `,"cluster":{"engine":`...), clip(c.Engine, 32))
	b = quoted(append(b, `,"key":`...), clip(c.Key, 200))
	b = strconv.AppendUint(append(b, `,"token":`...), c.Token, 10)
	if c.Sticky {
		b = append(b, `,"sticky":true`...)
	}
	return append(b, '}')
}

// quoted appends s as a JSON string; only unusual text pays for the full encoder.
func quoted(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, _ := json.Marshal(s)
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func cut(p *Process) {
	p.Exe, p.Cgroup = clip(p.Exe, 160), clip(p.Cgroup, 200)
	p.Command = clipAll(p.Command, 400)
}

// clip cuts s so that its JSON form is at most n bytes: a control character or
// a byte that is not UTF-8 may take six.
func clip(s string, n int) string {
	size := 0
	for i, r := range s {
		size += width(r)
		if size > n {
			return s[:i] + "…"
		}
	}
	return s
}

func width(r rune) int {
	switch {
	case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029':
		return 6
	case r == '"', r == '\\':
		return 2
	case r < 0x80:
		return 1
	}
	return 6 // at most four bytes, or the escape of a byte that is not UTF-8
}

// clipAll cuts a list of texts to about n bytes together.
func clipAll(list []string, n int) []string {
	var out []string
	for _, s := range list {
		if n <= 0 {
			return append(out, "…")
		}
		s = clip(s, n)
		out, n = append(out, s), n-len(s)-3
	}
	return out
}

// Blank is an unwritten slot: spaces and a newline, so that a file which has one
// record still reads well.
func Blank() []byte { return append(pad(nil, SlotSize-1), '\n') }
