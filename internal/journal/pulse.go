package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"
)

const (
	// PulseName is the small file that says how the service was when it was last
	// asked. It is no history: it is written over at each probe.
	PulseName = "health"
	// PageSize is that of a small file which is written over in place: so it
	// needs no room on a full disk.
	PageSize = 512
)

// Pulse is the newest answer of a service to its probe.
type Pulse struct {
	// Token is the fencing token of the holder that asked.
	Token uint64 `json:"token"`
	// Time is when.
	Time time.Time `json:"time"`
	// State is where the service stands: starting, ready, unhealthy, stopping, waiting.
	State string `json:"state"`
	// Verdict is ok, slow, fail or unknown.
	Verdict string `json:"verdict"`
	// Detail is the answer in words.
	Detail string `json:"detail"`
	// Took is the time of the answer in seconds.
	Took float64 `json:"took"`
}

// Page makes the text of the file.
func (p Pulse) Page() ([]byte, error) {
	p.Detail = clip(p.Detail, 200)
	page, err := Page(p)
	if errors.Is(err, bytes.ErrTooLarge) { // text that escapes to six times its length
		p.Detail = clip(p.Detail, 30)
		page, err = Page(p)
	}
	return page, err
}

// ReadPulse reads the file of a state directory.
func ReadPulse(fsys fs.FS) (Pulse, error) {
	f, err := fsys.Open(PulseName)
	if err != nil {
		return Pulse{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, PageSize))
	if err != nil {
		return Pulse{}, err
	}
	return ParsePulse(text)
}

// ParsePulse reads the file's text. Half written ones are errors.
func ParsePulse(text []byte) (Pulse, error) {
	var p Pulse
	return p, ReadPage(text, &p)
}

// Page makes JSON of v, padded to PageSize bytes; longer text is an error.
func Page(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	switch {
	case err != nil:
		return nil, err
	case len(text) >= PageSize:
		return nil, bytes.ErrTooLarge
	}
	page := append(bytes.Repeat([]byte{' '}, PageSize-1), '\n')
	copy(page, text)
	return page, nil
}

// ReadPage is the way back.
func ReadPage(text []byte, v any) error {
	return json.Unmarshal(bytes.TrimSpace(text[:min(len(text), PageSize)]), v)
}
