package wire_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/agent/wire"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	all := []wire.Message{
		{
			Kind: wire.Start, URL: "etcd://a:1,b:2/p?ttl=3s", Name: "a b/c\nd", Info: "é", Grace: time.Second, Wait: -1, Floor: 1<<64 - 1,
			Dir: "/d", State: "/s",
		},
		{Kind: wire.Granted, Engine: "etcd", Key: "/p/claim/x", Token: 9, Sent: 5, TTL: 6},
		{Kind: wire.Tree, PID: 7, Start: 8, Cgroup: "/sys/fs/cgroup/x"},
		{Kind: wire.Trouble, Errors: 3},
		{Kind: wire.Failed, Fault: wire.Away, Text: "no answer"},
		{Kind: wire.Released},
	}
	var line bytes.Buffer
	for _, m := range all {
		if err := wire.Write(&line, m); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(line.String(), "\n"); n != len(all) {
		t.Fatalf("%d lines for %d messages", n, len(all))
	}
	r := wire.NewReader(&line)
	for _, want := range all {
		want.Version = wire.Version
		if got, err := r.Read(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if _, err := r.Read(); err != io.EOF {
		t.Error(err)
	}
}

// What is not understood ends the conversation: nothing is guessed.
func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	for what, line := range map[string]string{
		"no JSON":         "hello",
		"another version": `{"v":2,"kind":"kill"}`,
		"no version":      `{"kind":"kill"}`,
		"unknown kind":    `{"v":1,"kind":"carry-on"}`,
		"negative pid":    `{"v":1,"kind":"tree","pid":-1}`,
		"negative time":   `{"v":1,"kind":"acked","ttl":-5}`,
		"wrong type":      `{"v":1,"kind":"acked","ttl":"long"}`,
		"too long":        `{"v":1,"kind":"told","text":"` + strings.Repeat("x", 1<<17) + `"}`,
	} {
		if m, err := wire.NewReader(strings.NewReader(line + "\n")).Read(); !errors.Is(err, wire.ErrWire) {
			t.Errorf("%s: %+v, %v", what, m, err)
		}
	}
}

// Fields that a later release adds are no reason to stop.
func TestMoreFields(t *testing.T) {
	t.Parallel()
	m, err := wire.NewReader(strings.NewReader(`{"v":1,"kind":"acked","sent":5,"ttl":6,"mood":"good"}` + "\n")).Read()
	if err != nil || m.Sent != 5 || m.TTL != 6 {
		t.Errorf("%+v, %v", m, err)
	}
}
