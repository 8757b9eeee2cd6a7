package record_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/record"
)

func sample(seq, token uint64, state record.State) *record.Record {
	return &record.Record{
		Format: 1, Seq: seq, Token: token, State: state, Nonce: "00112233445566778899aabbccddeeff",
		Acquired:         time.Date(2026, 11, 29, 13, 20, 7, 2000000, time.UTC),
		AcquiredBoottime: 123456789, Lock: record.FileID{Dev: 65024, Ino: 42},
		Mount: record.Mount{Type: "ext4", Source: "/dev/sda1"}, Name: "kb",
		Child: &record.Process{PID: 8124, StartTicks: 99, Command: []string{"kb", "--addr", ":8080"}},
		Holder: record.Holder{
			Process: record.Process{PID: 8123, StartTicks: 98, BootID: "b", PIDNS: 4026531836, Command: []string{"solehold", "run"}},
			Host:    "h1", UID: 997, Origin: record.Origin{By: "kb.service", Parents: []string{"1 systemd"}},
		},
	}
}

func encode(r *record.Record) []byte { return record.NewEncoder(r.Holder).Encode(r) }

// file lays two slots side by side.
func file(slots ...*record.Record) []byte {
	var b []byte
	for _, s := range slots {
		b = append(b, encode(s)...)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	want := sample(3, 7, record.Ready)
	data := file(want)
	if len(data) != record.SlotSize || data[len(data)-1] != '\n' || bytes.Count(data, []byte("\n")) != 1 {
		t.Fatalf("a slot must be one line of %d bytes", record.SlotSize)
	}
	got, err := record.Decode(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestNewestSlotWins(t *testing.T) {
	for _, tc := range []struct {
		name        string
		a, b        *record.Record
		token, slot int
	}{
		{"higher token", sample(9, 41, record.Released), sample(10, 42, record.Starting), 42, 1},
		{"token beats sequence", sample(3, 42, record.Starting), sample(10, 41, record.Released), 42, 0},
		{"later write of one token", sample(11, 42, record.Ready), sample(12, 42, record.Released), 42, 1},
	} {
		h, err := record.Newest(file(tc.a, tc.b))
		if err != nil || h.Token != uint64(tc.token) || h.Slot != tc.slot {
			t.Errorf("%s: %+v, %v", tc.name, h, err)
		}
	}
}

// A crash while a slot is written, at every byte, must leave the other slot's
// record or the new one, never something else and never nothing.
func TestTornAtEveryByte(t *testing.T) {
	before := file(sample(9, 41, record.Released), sample(8, 40, record.Released))
	next := encode(sample(10, 42, record.Starting))
	for n := range record.SlotSize + 1 {
		torn := bytes.Clone(before)
		copy(torn[record.SlotSize:], next[:n])
		h, err := record.Newest(torn)
		if err != nil {
			t.Fatalf("torn after %d bytes: %v", n, err)
		}
		if h.Token != 41 && (h.Token != 42 || !bytes.Equal(torn[record.SlotSize:], next)) {
			t.Fatalf("torn after %d bytes: token %d", n, h.Token)
		}
	}
}

func TestUnreadable(t *testing.T) {
	valid := file(sample(1, 1, record.Ready))
	flipped := bytes.Clone(valid)
	flipped[20] ^= 1
	noPID := sample(1, 1, record.Ready)
	noPID.Holder.PID = -1
	for name, tc := range map[string]struct {
		data []byte
		want error
	}{
		"no bytes":        {nil, record.ErrEmpty},
		"newline":         {[]byte("\n"), record.ErrEmpty},
		"1 MiB of NUL":    {make([]byte, 1<<20), record.ErrEmpty},
		"zero":            {[]byte("0"), record.ErrTorn},
		"minus one":       {[]byte("-1"), record.ErrTorn},
		"text":            {[]byte("12a"), record.ErrTorn},
		"cut JSON":        {valid[:100], record.ErrTorn},
		"one bit flipped": {flipped, record.ErrTorn},
		"pid -1":          {file(noPID), record.ErrTorn},
	} {
		if r, err := record.Decode(tc.data); !errors.Is(err, tc.want) || r != nil {
			t.Errorf("%s: %v, %v; want %v", name, r, err, tc.want)
		}
	}
}

// Whatever the command line or the mount is called, a record fits its slot.
func TestHugeTextsAreCut(t *testing.T) {
	r := sample(1, 1, record.Ready)
	for _, text := range []string{"x", "\x00", "\xff", "<", "ä", "𝄞", `"`} {
		long := strings.Repeat(text, 5000)
		r.Name, r.Mount.Source, r.Mount.Type, r.Holder.Exe, r.Holder.Host = long, long, long, long, long
		r.Holder.MachineID, r.Holder.Cgroup = long, long
		r.Holder.Command = []string{long, long}
		r.Holder.Origin = record.Origin{By: long, Unit: long, Container: long, Invocation: long, Parents: []string{long, long}}
		r.Child = &record.Process{PID: 1, Exe: long, Command: []string{long, long}, Cgroup: long}
		data := encode(r)
		if len(data) != record.SlotSize {
			t.Fatalf("%q: slot of %d bytes", text, len(data))
		}
		if _, err := record.Decode(data); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Fields of a later version, and another order of the known ones, are read.
func TestForeignWriter(t *testing.T) {
	text := `{"token":5,"later":{"x":1},"format":2,"seq":3,"state":"ready","holder":{"pid":9,"later":true}}`
	r, err := record.Decode(record.Seal([]byte(text)))
	if err != nil || r.Token != 5 || r.Holder.PID != 9 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(file(sample(1, 1, record.Ready)))
	f.Add(file(sample(9, 41, record.Released), sample(10, 42, record.Starting)))
	f.Add([]byte("\n"))
	f.Add(record.Seal([]byte(`{"format":1,"seq":1,"token":2,"state":"`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := record.Decode(data)
		if (r == nil) == (err == nil) {
			t.Fatalf("%v, %v", r, err)
		}
		if r != nil && !r.Valid() {
			t.Fatalf("invalid record: %+v", r)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	r := sample(1, 1, record.Ready)
	r.Child = nil
	e := record.NewEncoder(r.Holder)
	for b.Loop() {
		e.Encode(r)
	}
}

func BenchmarkNewest(b *testing.B) {
	data := file(sample(9, 41, record.Released), sample(10, 42, record.Starting))
	for b.Loop() {
		record.Newest(data)
	}
}
