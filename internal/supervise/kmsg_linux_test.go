//go:build !solehold_portable

package supervise

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Only the record of this process, of its own time, proves anything.
func TestRecordsOfTheKernelsLog(t *testing.T) {
	t.Parallel()
	const text = "Memory cgroup out of memory: Killed process 42 (tail) total-vm:70000kB\n SUBSYSTEM=x"
	for record, want := range map[string]bool{
		"3,1071,5000000,-;" + text:                                                      true,
		"3,1071,1000000,-;" + text:                                                      false, // before it was started
		"3,1071,5000000,-;Out of memory: Killed process 42 (tail)":                      true,
		"3,1071,5000000,-;Out of memory: Killed process 421 (tail)":                     false,
		"3,1071,5000000,-;Killed process 42 (tail)":                                     false,
		"6,1071,5000000,-;a line of somebody: out of memory\n Killed process 42 (tail)": false,
		"3,1071,x,-;" + text:                                                            false,
		"":                                                                              false,
		text:                                                                            false,
	} {
		if got := isOOM(record, 42, 2*time.Second); got != want {
			t.Errorf("%q: %v", record, got)
		}
	}
}

// The group's own count is believed as far as it can be read.
func TestCountOfAGroup(t *testing.T) {
	t.Parallel()
	c := &cgroup{path: t.TempDir()}
	if n := c.ooms(); n != 0 {
		t.Errorf("without a count: %d", n)
	}
	for text, want := range map[string]int{"low 0\noom 4\noom_kill 3\noom_group_kill 0\n": 3, "oom 4\n": 0, "oom_kill x\n": 0, "": 0} {
		if err := os.WriteFile(filepath.Join(c.path, "memory.events"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := c.ooms(); n != want {
			t.Errorf("%q: %d", text, n)
		}
	}
	if n := (*cgroup)(nil).ooms(); n != 0 {
		t.Errorf("no group: %d", n)
	}
}
