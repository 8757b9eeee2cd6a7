package overview_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/testneed"
)

// neverAnswering lays a file system over a directory that does not answer, in the
// mount namespace of a process of its own, until fuse is closed. It returns the
// directory as seen from here.
func neverAnswering(t *testing.T, dir string) (seen string, fuse *os.File) {
	t.Helper()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	must(t, err)
	script := `mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hung "$1" && echo && exec 3<&- && exec cat`
	cmd := exec.Command("sh", "-c", script, "sh", dir)
	cmd.ExtraFiles = []*os.File{fuse}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { fuse.Close(); in.Close(); io.Copy(io.Discard, out); cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	return filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "root", dir), fuse
}

// A file system that does not answer costs its own row: the others are there, and
// later looks do not wait for it. When it answers again, so does the row.
func TestHungMount(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	_, err := os.Stat("/dev/fuse")
	testneed.Feature(t, err == nil, "/dev/fuse", "modprobe fuse, or run the container with --device /dev/fuse")
	hung, fuse := neverAnswering(t, dataDir(t))
	fine := dataDir(t)
	start(t, "hold "+fine)
	w := overview.NewWatcher(overview.Options{Paths: []string{hung, fine}, Examine: -1, Timeout: time.Second})
	for range 3 {
		h := w.Look(t.Context())
		d, ok := h.Find(hung)
		if !ok || d.State != solehold.NotKnown || d.Problem == nil || d.Problem.Kind != overview.Hung || !strings.Contains(d.Error, "did not answer within 1s") {
			t.Fatalf("%v %+v %+v", ok, d, d.Problem)
		}
	}
	until(t, w, fine, func(d overview.Directory) bool { return d.State == solehold.Held })
	must(t, fuse.Close()) // now every question there is an error
	d := until(t, w, hung, func(d overview.Directory) bool { return d.Problem != nil && d.Problem.Kind != overview.Hung })
	if d.State != solehold.NotKnown {
		t.Errorf("%+v", d)
	}
}
