package web_test

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/testneed"
)

// A mount that hangs has a row that says so; the others are shown, and so is every
// page, also that of the row itself.
func TestHungMount(t *testing.T) {
	testneed.Root(t)
	t.Parallel()
	_, err := os.Stat("/dev/fuse")
	testneed.Feature(t, err == nil, "/dev/fuse", "modprobe fuse, or run the container with --device /dev/fuse")
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	must(t, err)
	point := dataDir(t)
	cmd := exec.Command("sh", "-c", `mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 hung "$1" && echo && exec cat`, "sh", point)
	cmd.ExtraFiles = []*os.File{fuse}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	must(t, fuse.Close())
	end := func() { in.Close(); io.Copy(io.Discard, out); cmd.Wait() }
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	hung, fine := filepath.Join("/proc", itoa(cmd.Process.Pid), "root", point), dataDir(t)
	start(t, nil, "hold "+fine)
	o := shows(hung, fine)
	o.Overview.Timeout = 500 * time.Millisecond
	base := serve(t, o)
	t.Cleanup(end) // before the server ends: its last question is answered then
	page := until(t, base+"/", "<small>hung</small>")
	if !strings.Contains(page, fine) || !strings.Contains(page, "HELD") {
		t.Error(page)
	}
	code, text := get(t, base+"/dir?path="+url.QueryEscape(hung))
	if code != http.StatusOK || !strings.Contains(text, "did not answer within 500ms") || !strings.Contains(text, "the history could not be read") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := get(t, base+"/incident?path="+url.QueryEscape(hung)); code != http.StatusServiceUnavailable || !strings.Contains(text, "did not answer") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := get(t, base+"/dir?path="+url.QueryEscape(fine)); code != http.StatusOK {
		t.Errorf("the other: %d", code)
	}
}
