//go:build !solehold_portable

package supervise_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/internal/journal"
	"github.com/solehold/solehold/internal/testneed"
	"golang.org/x/sys/unix"
)

// hang puts a file system that never answers over each path, for as long as this
// process lives.
func hang(args []string) {
	for _, path := range args {
		st, err := os.Stat(path)
		fd, openErr := unix.Open("/dev/fuse", unix.O_RDWR, 0)
		if err != nil || openErr != nil {
			fmt.Println("hang:", err, openErr)
			return
		}
		mode := "40000"
		if st.Mode().IsRegular() {
			mode = "100000"
		}
		if err := unix.Mount("hung", path, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=%s,user_id=0,group_id=0", fd, mode)); err != nil {
			fmt.Println("hang:", err)
			return
		}
	}
	fmt.Println("hung")
	untilKilled()
}

// apart runs in a mount namespace of its own, after a script.
func apart(script string) how {
	return func(c *exec.Cmd) {
		through(script + `; exec "$@"`)(c)
		c.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNS
	}
}

// Nothing of the state directory answers any more: the service is restarted all
// the same, and it is said that there is no evidence.
func TestHungStateHoldsUpNoRestart(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	_, err := os.Stat("/dev/fuse")
	testneed.Feature(t, err == nil, "/dev/fuse", "modprobe fuse, or run the container with --device /dev/fuse")
	nsenter := testneed.Program(t, "nsenter", "apt-get install util-linux")
	s := newSite(t)
	v := s.serve([]how{apart("mount --make-rprivate /")})
	v.healthy(1)
	v.rounds(1)
	state := filepath.Join(s.dir, ".solehold")
	must(t, os.Mkdir(filepath.Join(state, "incidents"), 0o700))
	h := s.beside().start(nil, nsenter, "-t", itoa(v.pid()), "-m", self(t), "hang",
		filepath.Join(state, "incidents"), filepath.Join(state, journal.PulseName), filepath.Join(state, "failures.json"))
	h.out.await("hung", 1)
	begun := time.Now()
	v.is("fail")
	v.errs.await("unhealthy", 1)
	v.errs.until("the stop", func(text string, _ bool) bool { return strings.Contains(text, "stopping it") })
	t.Logf("stopped after %s\n%s", time.Since(begun), v.errs.text())
	v.is("ok")
	v.healthy(2)
	if text := v.errs.text(); !strings.Contains(text, "evidence: no evidence could be saved") && !strings.Contains(text, "not saved whole") {
		t.Errorf("what is missing is not said: %s", text)
	}
	v.signal(syscall.SIGTERM)
	v.wait()
	h.kill()
	v.sound()
}

// A full disk costs the evidence and not the restart.
func TestFullDiskHoldsUpNoRestart(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	s := newSite(t)
	place := s.path("place")
	must(t, os.Mkdir(place, 0o755))
	v := s.serve([]how{apart("mount --make-rprivate / && mount -t tmpfs -o size=1m,mode=700 none " + place)}, "--state", place)
	v.out.await("serving", 1)
	seen := filepath.Join("/proc", itoa(v.pid()), "root", place)
	testneed.Until(t, "a full disk", func() bool {
		return os.WriteFile(filepath.Join(seen, "fill"), make([]byte, 2<<20), 0o600) != nil
	})
	v.is("fail")
	v.errs.await("stopping it", 1)
	v.is("ok")
	v.out.await("serving", 2)
	text := v.errs.text()
	if !strings.Contains(text, "no space left") {
		t.Errorf("what is missing is not said: %s", text)
	}
	if strings.Index(text, "evidence: ") > strings.Index(text, "stopping it") {
		t.Errorf("stopped before the evidence: %s", text)
	}
	v.signal(syscall.SIGTERM)
	v.wait()
}
