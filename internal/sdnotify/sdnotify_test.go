package sdnotify_test

import (
	"slices"
	"testing"

	"github.com/solehold/solehold/internal/sdnotify"
)

func TestMessage(t *testing.T) {
	m := sdnotify.Parse([]byte("STATUS=a=b\n\nREADY=1\nSTATUS=last\nMAINPID=7"))
	if v, ok := m.Get("STATUS"); v != "last" || !ok || !m.Ready() || m.Watchdog() {
		t.Errorf("%+v", m)
	}
	if _, ok := m.Get("STAT"); ok {
		t.Error("a name matched by its beginning")
	}
	if got := string(m.Without("MAINPID", "STATUS").Text()); got != "READY=1" {
		t.Errorf("%q", got)
	}
	if sdnotify.Parse([]byte("READY=0")).Ready() || !sdnotify.Parse([]byte("WATCHDOG=1\n")).Watchdog() {
		t.Error("READY or WATCHDOG misread")
	}
}

func TestEnvironment(t *testing.T) {
	got := sdnotify.Environment([]string{"A=1", "NOTIFY_SOCKET=/run/x", "WATCHDOG_PID=12", "WATCHDOG_USEC=9", "NOTIFY_SOCKETS=y"}, "@mine")
	want := []string{"A=1", "WATCHDOG_USEC=9", "NOTIFY_SOCKETS=y", "NOTIFY_SOCKET=@mine"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
