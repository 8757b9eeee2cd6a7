package drill_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/drill"
	"github.com/solehold/solehold/internal/testneed"
)

// A guard between hosts as small as can be: who holds the lock says so again and again, and is told that it was heard. The
// engine gives the lock away when it has not heard for leaseTime; a careful holder ends its command long before that.
const (
	leaseTime = 3 * time.Second
	loseTime  = 1 * time.Second
	beat      = 100 * time.Millisecond
)

// smallEngine has one lock. It never returns.
func smallEngine(address string) int {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	turn := make(chan struct{}, 1)
	turn <- struct{}{}
	fmt.Println("ready")
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		go func() {
			defer c.Close()
			<-turn
			defer func() { turn <- struct{}{} }()
			for answered := true; answered; {
				_, err := c.Write([]byte("yours\n"))
				c.SetReadDeadline(time.Now().Add(leaseTime))
				_, readErr := c.Read(make([]byte, 1))
				answered = err == nil && readErr == nil
			}
		}()
	}
}

// smallRun is called as solehold run is: it runs the command while it has the lock. How it goes about that is in an
// environment variable, for the faults that a drill must find.
func smallRun(args []string) int {
	how := os.Getenv("SOLEHOLD_TEST_HOW")
	url := args[slices.Index(args, "--cluster")+1]
	at := strings.Split(strings.TrimPrefix(url, "etcd://"), "/")[0]
	command := args[slices.Index(args, "--")+1:]
	cmd := exec.Command(command[0], command[1:]...)
	if how == "alone" { // it asks nobody
		cmd.Start()
		cmd.Wait()
		return 0
	}
	c, err := net.Dial("tcp", at)
	if err != nil {
		fmt.Println(err)
		return 74
	}
	in := bufio.NewReader(c)
	if _, err := in.ReadString('\n'); err != nil {
		return 74
	}
	if cmd.Start() != nil {
		return 1
	}
	if how == "forever" { // it holds on to what it has got, and never hears that it is lost
		go func() {
			for range time.Tick(beat) {
				c.Write([]byte("."))
			}
		}()
		cmd.Wait()
		return 0
	}
	for err == nil {
		<-time.After(beat)
		c.Write([]byte("."))
		c.SetReadDeadline(time.Now().Add(loseTime))
		_, err = in.ReadString('\n')
	}
	cmd.Process.Kill()
	cmd.Wait()
	return 76
}

// TestPartition runs a command below a guard between hosts that is good, and below some that are not.
func TestPartition(t *testing.T) {
	testneed.Root(t)
	testneed.Program(t, "ip", "apt-get install iproute2")
	t.Parallel()
	for how, c := range map[string]struct {
		want    drill.Verdict
		because string
	}{
		"well":    {drill.Pass, ""},
		"alone":   {drill.Failed, "2 owners at once"},
		"forever": {drill.Failed, "2 owners at once"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tool := script(t, "#!/bin/sh\nSOLEHOLD_TEST_HOW="+how+" exec "+os.Args[0]+` act run "$@"`)[1]
			r := run(t, drill.Config{Scenario: "partition", Command: self("write", "{dir}/data"), Tool: tool})
			expect(t, r, c.want, c.because)
			if r.Verdict == drill.Pass && (r.Cut.Count != 1 || r.Cut.Slowest < (leaseTime-loseTime).Seconds()/2) {
				t.Errorf("after the cut: %+v", r.Cut)
			}
		})
	}
}

// TestNobodyAfterTheCut has a guard that never gives the lock away: that is told, after the limit.
func TestNobodyAfterTheCut(t *testing.T) {
	testneed.Root(t)
	testneed.Program(t, "ip", "apt-get install iproute2")
	t.Parallel()
	text := "#!/bin/sh\n" + `case $SOLEHOLD_DRILL in *.1) shift 11; exec "$@";; esac; exec sleep 1000`
	tool := script(t, text)[1]
	r := run(t, drill.Config{Scenario: "partition", Command: self("write", "{dir}/data"), Tool: tool, Limit: 2 * long})
	expect(t, r, drill.Failed, "no owner: none of 1 starts came to own the data (start 2: lives, and waits)")
}

// TestPartitionNeeds says what is missing.
func TestPartitionNeeds(t *testing.T) {
	testneed.Root(t)
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	must(t, os.Symlink(os.Args[0], filepath.Join(dir, "drill")))
	c := drill.Config{Scenario: "partition", Command: []string{os.Args[0]}, Self: []string{filepath.Join(dir, "drill")}, Limit: patience}
	r, err := drill.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "ip (iproute2)") || r.Verdict != drill.NotRun {
		t.Errorf("without ip: %v, %s", err, r.Verdict)
	}
	must(t, os.Symlink("/bin/true", filepath.Join(os.Getenv("PATH"), "ip")))
	r, err = drill.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "it takes the program solehold") || r.Verdict != drill.NotRun {
		t.Errorf("without solehold: %v, %s", err, r.Verdict)
	}
}

// TestNetworksAreGone has no device of a drill on this machine, during one and after it.
func TestNetworksAreGone(t *testing.T) {
	testneed.Root(t)
	testneed.Program(t, "ip", "apt-get install iproute2")
	t.Parallel()
	tool := script(t, "#!/bin/sh\nexit 9")[1]
	var seen []string
	c := drill.Config{Scenario: "partition", Command: self("write", "{dir}/data"), Tool: tool}
	c.Progress = func(drill.Progress) { seen = append(seen, devices(t)...) }
	r := run(t, c)
	expect(t, r, drill.Failed, "no owner: none of 1 starts came to own the data (start 1: exit 9)")
	if seen = append(seen, devices(t)...); len(seen) > 0 {
		t.Errorf("on this machine: %q", seen)
	}
}

// devices lists the network devices here that have the names of a drill's.
func devices(t *testing.T) (found []string) {
	t.Helper()
	all, err := net.Interfaces()
	must(t, err)
	for _, i := range all {
		if i.Name == "hbr" || i.Name == "v1" {
			found = append(found, i.Name)
		}
	}
	return found
}
