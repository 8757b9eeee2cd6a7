// Package journald tells systemd's journal of events, by its native protocol, and
// reads them back. Nothing waits for the journal: an event that it does not take
// at once is in the history file alone.
//
// The socket is spoken to directly. Of the libraries for it, go-systemd's waits
// without limit for room in the journal's queue, while a holder must go on.
package journald

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/solehold/solehold/internal/journal"
)

// Socket is where the journal listens.
const Socket = "/run/systemd/journal/socket"

// MessageID names a kind of event in the journal and its catalogue, for ever.
func MessageID(k journal.Kind) string {
	sum := sha256.Sum256([]byte("solehold event " + string(k)))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0F|0x40, id[8]&0x3F|0x80 // as a UUID of version 4 has it
	return hex.EncodeToString(id)
}

// Datagram is an event of a data directory in the native protocol.
func Datagram(dir string, e journal.Event) ([]byte, error) {
	line, err := journal.Encode(e)
	if err == nil {
		err = json.Unmarshal(line, &e) // as long as it is in the file, and no longer
	}
	if err != nil {
		return nil, err
	}
	var b []byte
	field := func(name, value string) {
		if value == "" {
			return
		}
		// The form with a length: no value can end its field and begin another.
		b = append(append(b, name...), '\n')
		b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
		b = append(append(b, value...), '\n')
	}
	field("MESSAGE", message(dir, e))
	field("PRIORITY", priority(e.Kind))
	field("SYSLOG_IDENTIFIER", "solehold")
	field("MESSAGE_ID", MessageID(e.Kind))
	field("SOLEHOLD_DIR", dir)
	field("SOLEHOLD_EVENT", string(e.Kind))
	field("SOLEHOLD_TOKEN", number(e.Token))
	field("SOLEHOLD_PID", number(uint64(max(e.PID, 0))))
	field("SOLEHOLD_HOLDER", e.Name)
	field("SOLEHOLD_BY", e.By)
	field("SOLEHOLD_DETAIL", e.Detail)
	field("SOLEHOLD_CLASS", e.Class)
	field("SOLEHOLD_JSON", strings.TrimSuffix(string(line), "\n"))
	return b, nil
}

func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// message is the event in one line for people.
func message(dir string, e journal.Event) string {
	text := dir + ": " + string(e.Kind)
	if e.PID > 0 {
		text += fmt.Sprintf(", pid %d", e.PID)
	}
	for _, more := range []string{e.Name, e.Detail} {
		if more != "" {
			text += ": " + more
		}
	}
	if e.Class != "" {
		text += " (" + e.Class + ")"
	}
	return text
}

// priority is that of syslog(3).
func priority(k journal.Kind) string {
	switch k {
	case journal.Lost:
		return "3"
	case journal.Vanished, journal.Incident, journal.Health, journal.LockRemoved, journal.Forced, journal.Moved, journal.Restart:
		return "4"
	case journal.Refused, journal.Recovery, journal.ReleaseRequested, journal.ClockStep:
		return "5"
	}
	return "6"
}
