package journald

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold/internal/journal"
)

const (
	// most is how many events are read, the newest.
	most = 20000
	// longest is how long an entry may be.
	longest = 64 << 10
)

// Entry is one event as the journal has it.
type Entry struct {
	// Event is what was sent.
	Event journal.Event
	// UID is the user who sent it, as the journal knows for certain.
	UID int
}

// ErrNone says that this system has no journal that could be asked.
var ErrNone = errors.New("there is no journal of systemd here")

// Read asks the journal for the events of a data directory, oldest first. What it
// does not show to this user is missing. Entries that are no events are skipped.
func Read(ctx context.Context, dir string) ([]Entry, error) {
	path, err := exec.LookPath("journalctl")
	if err != nil || !kept() {
		return nil, ErrNone
	}
	c := exec.CommandContext(ctx, path, "--quiet", "--no-pager", "--all", "--output=json", "--output-fields=SOLEHOLD_JSON,_UID",
		"--lines="+strconv.Itoa(most), "SOLEHOLD_DIR="+dir)
	c.WaitDelay = time.Second
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("journalctl: %w", err)
	}
	found, err := Parse(out)
	io.Copy(io.Discard, out)
	if waited := c.Wait(); waited != nil {
		if why, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n"); why != "" {
			waited = errors.New(why)
		}
		err = cmp.Or(ctx.Err(), waited)
	}
	if err != nil {
		return nil, fmt.Errorf("journalctl: %w", err)
	}
	return found, nil
}

// kept reports whether a journal is kept at all.
func kept() bool {
	for _, dir := range []string{"/run/log/journal", "/var/log/journal"} {
		if _, err := os.Stat(dir); err == nil {
			return true
		}
	}
	return false
}

// text is a value as journalctl shows it: a string, or numbers where it cannot be
// printed.
type text string

// UnmarshalJSON reads both forms.
func (t *text) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		var numbers []int // as []byte they would be base64
		err := json.Unmarshal(b, &numbers)
		raw := make([]byte, len(numbers))
		for i, n := range numbers {
			raw[i] = byte(n)
		}
		*t = text(raw)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

// Parse reads what journalctl prints.
func Parse(r io.Reader) ([]Entry, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	var found []Entry
	for lines.Scan() {
		var raw struct {
			JSON text `json:"SOLEHOLD_JSON"`
			UID  text `json:"_UID"`
		}
		var e journal.Event
		if json.Unmarshal(lines.Bytes(), &raw) != nil || json.Unmarshal([]byte(raw.JSON), &e) != nil || e.Kind == "" || e.Time.IsZero() {
			continue
		}
		uid, err := strconv.Atoi(string(raw.UID))
		if err != nil {
			continue
		}
		found = append(found, Entry{e, uid})
	}
	return found, lines.Err()
}
