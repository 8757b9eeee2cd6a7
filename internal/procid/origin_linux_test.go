package procid_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

const (
	idA = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	idB = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, cgroup, unit, container string }{
		{"service", "0::/system.slice/postgresql@16-main.service\n", "postgresql@16-main.service", ""},
		{"service with a cgroup below", "0::/system.slice/kb.service/child\n", "kb.service", ""},
		{"user's service", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/kb.service\n", "kb.service", ""},
		{"session", "0::/user.slice/user-0.slice/session-3.scope\n", "session-3.scope", ""},
		{"version 1", "9:name=systemd:/system.slice/kb.service\n4:memory:/system.slice\n0::/\n", "kb.service", ""},
		{"docker, cgroupfs", "12:pids:/docker/" + idA + "\n", "", idA},
		{"docker, systemd", "0::/system.slice/docker-" + idA + ".scope\n", "docker-" + idA + ".scope", idA},
		{"docker in its own cgroup namespace", "0::/\n", "", ""},
		{"containerd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-" + idA + ".scope\n", "cri-containerd-" + idA + ".scope", idA},
		{"containerd, cgroupfs", "11:memory:/kubepods/besteffort/pod0a1b2c3d-0000-4000-8000-000000000000/" + idA + "\n", "", idA},
		{"crio", "0::/kubepods.slice/crio-" + idA + ".scope/container\n", "crio-" + idA + ".scope", idA},
		{"podman", "0::/machine.slice/libpod-" + idA + ".scope/container\n", "libpod-" + idA + ".scope", idA},
		{"podman of a unit", "0::/system.slice/kb.service/libpod-payload-" + idA + "\n", "kb.service", idA},
		{"container in a container", "0::/docker/" + idA + "/docker/" + idB + "\n", "", idB},
		{"outside of the reader's cgroup namespace", "0::/../../docker-" + idA + ".scope\n", "docker-" + idA + ".scope", idA},
		{"too short an id", "0::/docker/" + idA[1:] + "\n", "", ""},
		{"upper case is no id", "0::/docker/" + strings.ToUpper(idA) + "\n", "", ""},
		{"relative", "0::docker\n", "", ""},
		{"empty", "0::\n", "", ""},
		{"none", "!", "", ""},
		{"not understood", "nonsense\n", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := procid.OriginOf(proc(files{"7/stat": stat(7, "S", 0, 1), "7/cgroup": test.cgroup}), 7)
			if o.Unit != test.unit || o.Container != test.container {
				t.Errorf("got unit %q, container %q", o.Unit, o.Container)
			}
		})
	}
}

// line is a stat line with a name, a parent and a terminal.
func line(pid int, comm string, ppid, tty int) string {
	return fmt.Sprintf("%d (%s) S %d 1 1 %d -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n", pid, comm, ppid, tty)
}

func TestOriginInShort(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, cgroup string
		tty          int
		want         string
	}{
		{"service", "0::/system.slice/kb.service\n", 0, "kb.service"},
		{"service on a terminal", "0::/system.slice/kb.service\n", 136 << 8, "kb.service"},
		{"service of a container", "0::/system.slice/kb.service/libpod-payload-" + idA + "\n", 0, "kb.service"},
		{"container", "0::/docker/" + idA + "\n", 0, "container 0123456789ab"},
		{"container of a scope", "0::/system.slice/docker-" + idA + ".scope\n", 136 << 8, "container 0123456789ab"},
		{"session", "0::/user.slice/session-3.scope\n", 136<<8 | 4, "terminal pts/4 (bash, pid 6)"},
		{"cron", "0::/system.slice\n", 0, "bash, pid 6"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := procid.OriginOf(proc(files{
				"7/stat": line(7, "kb", 6, test.tty), "7/cgroup": test.cgroup, "6/stat": line(6, "bash", 1, test.tty),
			}), 7)
			if o.By != test.want || o.TTY != test.tty {
				t.Errorf("got %q on %d, want %q", o.By, o.TTY, test.want)
			}
		})
	}
}

// TestTerminals has device numbers as the kernel packs them into stat.
func TestTerminals(t *testing.T) {
	t.Parallel()
	for tty, want := range map[int]string{
		136 << 8:           "pts/0",
		136<<8 | 255:       "pts/255",
		1<<20 | 136<<8 | 3: "pts/259", // minor 259
		137<<8 | 1:         "pts/257",
		143<<8 | 255:       "pts/2047",
		4<<8 | 1:           "tty1",
		4<<8 | 63:          "tty63",
		4<<8 | 64:          "4:64",
		204<<8 | 70:        "204:70",
		-1:                 "4095:1048575",
	} {
		o := procid.OriginOf(proc(files{"7/stat": line(7, "kb", 6, tty), "6/stat": line(6, "sh", 0, tty)}), 7)
		if o.By != "terminal "+want+" (sh, pid 6)" {
			t.Errorf("%d: got %q, want %s", tty, o.By, want)
		}
	}
}

func TestParents(t *testing.T) {
	t.Parallel()
	all := files{}
	for pid := 2; pid < 20; pid++ {
		all[fmt.Sprintf("%d/stat", pid)] = line(pid, fmt.Sprintf("p) Z %d\n(", pid), pid-1, 0)
	}
	all["1/stat"] = line(1, "systemd", 0, 0)
	o := procid.OriginOf(proc(all), 19)
	want := []string{"18 p) Z 18\n(", "17 p) Z 17\n(", "16 p) Z 16\n(", "15 p) Z 15\n(", "14 p) Z 14\n(", "13 p) Z 13\n("}
	if !reflect.DeepEqual(o.Parents, want) || o.By != "p) Z 18\n(, pid 18" {
		t.Errorf("got %q by %q", o.Parents, o.By)
	}
	o = procid.OriginOf(proc(all), 3)
	if want := []string{"2 p) Z 2\n(", "1 systemd"}; !reflect.DeepEqual(o.Parents, want) {
		t.Errorf("got %q", o.Parents)
	}
}

func TestOriginOfNothing(t *testing.T) {
	t.Setenv("INVOCATION_ID", "")
	for _, pid := range []int{0, 1, 7} {
		if o := procid.OriginOf(procfs.New(fstest.MapFS{}), pid); !reflect.DeepEqual(o, procid.Origin{}) {
			t.Errorf("pid %d: got %+v", pid, o)
		}
	}
}

// systemd's id of a start is in the environment, so it is known of oneself only.
func TestInvocation(t *testing.T) {
	t.Setenv("INVOCATION_ID", "4711")
	p := proc(files{"self/stat": line(7, "kb", 0, 0), "7/stat": line(7, "kb", 0, 0)})
	if o := procid.OriginOf(p, 0); o.Invocation != "4711" {
		t.Errorf("got %+v", o)
	}
	if o := procid.OriginOf(p, 7); o.Invocation != "" {
		t.Errorf("got %+v", o)
	}
}
