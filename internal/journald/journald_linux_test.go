package journald_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/journald"
	"golang.org/x/sys/unix"
)

// full is an event with everything in it.
func full() journal.Event {
	uid, status := 7, 3
	return journal.Event{
		Time: time.Date(2026, 11, 30, 13, 20, 7, 1, time.UTC), Seq: 99, Boot: "b", Host: "h", Kind: journal.Vanished, Token: 41, PID: 8011,
		Name: "kb\nSOLEHOLD_DIR=/etc\n", UID: &uid, By: "kb.service", Detail: "ü\x00\x1b", Status: &status, Signal: "SIGKILL", Class: "crash", More: 2,
	}
}

// fields takes a datagram apart as the journal does.
func fields(t *testing.T, b []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for len(b) > 0 {
		name, rest, ok := strings.Cut(string(b), "\n")
		if !ok || strings.Contains(name, "=") || len(rest) < 8 {
			t.Fatalf("%q", b)
		}
		n := binary.LittleEndian.Uint64([]byte(rest[:8]))
		if uint64(len(rest)) < 9+n || rest[8+n] != '\n' || all[name] != "" {
			t.Fatalf("%q", rest)
		}
		all[name] = rest[8 : 8+n]
		b = []byte(rest[9+n:])
	}
	return all
}

// What is sent is the event, whole, and no value of it becomes a field.
func TestDatagram(t *testing.T) {
	b, err := journald.Datagram("/srv/a\nPRIORITY=0", full())
	if err != nil {
		t.Fatal(err)
	}
	got := fields(t, b)
	for name, want := range map[string]string{
		"SOLEHOLD_DIR": "/srv/a\nPRIORITY=0", "SOLEHOLD_EVENT": "vanished", "SOLEHOLD_TOKEN": "41", "SOLEHOLD_HOLDER": full().Name, "SOLEHOLD_PID": "8011",
		"SOLEHOLD_BY": "kb.service", "SOLEHOLD_CLASS": "crash", "PRIORITY": "4", "SYSLOG_IDENTIFIER": "solehold", "MESSAGE_ID": journald.MessageID(journal.Vanished),
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	var e journal.Event
	if err := json.Unmarshal([]byte(got["SOLEHOLD_JSON"]), &e); err != nil || !reflect.DeepEqual(e, full()) {
		t.Errorf("%+v %v", e, err)
	}
	small, err := journald.Datagram("/d", journal.Event{Kind: journal.Refused})
	if err != nil {
		t.Fatal(err)
	}
	if got := fields(t, small); len(got) != 7 || got["MESSAGE"] != "/d: refused" {
		t.Errorf("%q", got)
	}
}

// Each kind has an id of its own that never changes, an explanation, and a place
// in the catalogue.
func TestKinds(t *testing.T) {
	text, ids := journald.Catalog(), map[string]bool{}
	for _, k := range journal.Kinds() {
		id := journald.MessageID(k)
		if len(id) != 32 || ids[id] || strings.Count(text, "-- "+id+"\nSubject: ") != 1 {
			t.Errorf("%s: %s", k, id)
		}
		ids[id] = true
	}
	if strings.Contains(text, "\n\n\n\n") {
		t.Error("a kind has no explanation")
	}
	if got := journald.MessageID(journal.Acquired); got != "68ed7b09145a4f3d881d885a749fbfea" {
		t.Errorf("the id of acquired is %s", got)
	}
}

// listen is a journal that reads nothing.
func listen(t *testing.T) (path string, c *net.UnixConn) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "socket")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return path, c
}

// The largest event goes in one datagram.
func TestSend(t *testing.T) {
	path, c := listen(t)
	e := full()
	e.Detail, e.Name, e.By = strings.Repeat("\x01", 1<<16), strings.Repeat("<", 1<<16), strings.Repeat("ü", 1<<16)
	dir := "/" + strings.Repeat("d/", 2000)
	if err := journald.Send(path, dir, e); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	got := fields(t, buf[:n])
	if got["SOLEHOLD_DIR"] != dir || len(got["SOLEHOLD_JSON"]) > journal.MaxLine {
		t.Errorf("%d bytes of JSON", len(got["SOLEHOLD_JSON"]))
	}
}

// A journal that does not listen, is not there, or is something else costs
// nothing but an error, at once.
func TestSendNeverWaits(t *testing.T) {
	path, _ := listen(t)
	var err error
	n := 0
	for ; n < 100000 && err == nil; n++ {
		err = journald.Send(path, "/d", full())
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Errorf("after %d events: %v, want EAGAIN", n, err)
	}
	dir := t.TempDir()
	for path, want := range map[string]error{
		filepath.Join(dir, "none"): unix.ENOENT, dir: unix.ECONNREFUSED, "/" + strings.Repeat("x", 200): unix.EINVAL,
	} {
		if err := journald.Send(path, "/d", full()); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// What journalctl prints is read in all its forms; what is no event of ours is
// skipped.
func TestParse(t *testing.T) {
	line, err := journal.Encode(full())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(line))
	quoted, _ := json.Marshal(text)
	numbers := strings.ReplaceAll(fmt.Sprint([]byte(text)), " ", ",")
	in := strings.Join([]string{
		`{"SOLEHOLD_JSON":` + string(quoted) + `,"_UID":"0"}`,
		`{"SOLEHOLD_JSON":` + numbers + `,"_UID":"7","__CURSOR":"x"}`,
		`{"SOLEHOLD_JSON":` + string(quoted) + `}`, // nobody knows who sent it
		`{"SOLEHOLD_JSON":"{}","_UID":"0"}`,
		`{"SOLEHOLD_JSON":null,"_UID":"0"}`,
		`{"SOLEHOLD_JSON":["a"],"_UID":"0"}`,
		`-- No entries --`, ``, `[`,
	}, "\n")
	got, err := journald.Parse(strings.NewReader(in))
	want := []journald.Entry{{Event: full(), UID: 0}, {Event: full(), UID: 7}}
	if err != nil || !slices.EqualFunc(got, want, func(a, b journald.Entry) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := journald.Parse(strings.NewReader(strings.Repeat("x", 1<<20))); err == nil {
		t.Error("a line without end")
	}
}
