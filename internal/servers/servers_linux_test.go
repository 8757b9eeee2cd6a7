package servers_test

import (
	"bytes"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/servers"
	"github.com/solehold/solehold/internal/testneed"
)

func answers(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// Each server answers on its own address, and is gone after Close; two of a kind do not meet.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, k := range []servers.Kind{servers.Redis(), servers.ZooKeeper(), servers.PostgreSQL()} {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			testneed.Root(t)
			missing := k.Missing()
			testneed.Feature(t, missing == "", missing, k.Get)
			one, err := k.Start(t.TempDir(), answers)
			if err != nil {
				t.Fatal(err)
			}
			two, err := k.Start(t.TempDir(), answers)
			if err != nil {
				one.Close()
				t.Fatal(err)
			}
			one.Close()
			if answers(one.Addr) || !answers(two.Addr) {
				t.Errorf("after the end of %s: it answers %t, %s answers %t", one.Addr, answers(one.Addr), two.Addr, answers(two.Addr))
			}
			two.Close()
		})
	}
}

// What is missing is named; a server that ends at once is told with its words, not waited for.
func TestServerThatDoesNotRun(t *testing.T) {
	t.Parallel()
	command := func(string, string, *bytes.Buffer) (*exec.Cmd, error) {
		return exec.Command("sh", "-c", "echo no room; exit 3"), nil
	}
	for want, k := range map[string]servers.Kind{
		"tape-drive":       {Name: "x", Needs: []string{"sh", "tape-drive"}, Command: command},
		"/no/such.jar":     {Name: "x", Needs: []string{"/no/such.jar"}, Command: command},
		"x on this system": {Name: "x"},
		"":                 {Name: "x", Needs: []string{"sh", "/dev/null"}, Command: command},
	} {
		if got := k.Missing(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	_, err := servers.Kind{Name: "x", Command: command}.Start(t.TempDir(), func(string) bool { return false })
	if err == nil || !strings.Contains(err.Error(), "x has ended: exit status 3: no room") {
		t.Error(err)
	}
}
