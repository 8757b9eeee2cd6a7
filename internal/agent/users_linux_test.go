package agent_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/testneed"
)

// nobody is a user who has no rights, and the group of it.
const nobody, nogroup = 65534, "nogroup"

// as is another user, in a group of its own or in that of nobody.
func as(uid, gid uint32) *syscall.Credential { return &syscall.Credential{Uid: uid, Gid: gid} }

// give makes a host that of a user: what lies there is its own, and the way there is open.
func (h *host) give(user *syscall.Credential) *host {
	h.t.Helper()
	h.user = user
	if err := os.Chmod(filepath.Dir(h.base), 0o755); err != nil {
		h.t.Fatal(err)
	}
	for _, dir := range []string{h.base, h.dir} {
		if err := os.Chown(dir, int(user.Uid), int(user.Gid)); err != nil {
			h.t.Fatal(err)
		}
	}
	h.command = []string{"sh", "-c", `trap "" TERM; echo $$ >"$0"; exec sleep 1000`, h.base + "/started"}
	return h
}

// sleeping waits until the command of a crowd sleeps.
func (r *run) sleeping() {
	r.t.Helper()
	testneed.Until(r.t, "the command does not start: "+r.stderr.String(), func() bool {
		select {
		case <-r.done:
			r.t.Fatalf("the run ended: %s", r.stderr.String())
		default:
		}
		return r.sleeps()
	})
}

// The agent of root serves the members of a group: what they leave is stopped, their locks are given back. Nobody else
// comes in, and no agent that is not of root serves others.
func TestSharedUsers(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	etcd := engine(t)
	h := newHost(t, "x", etcd).give(as(nobody, nobody))
	h.shared = share(t, h.base, h.url(), "--group", nogroup)
	if st, err := os.Lstat(h.shared.socket); err != nil || st.Mode().Perm() != 0o660 || st.Sys().(*syscall.Stat_t).Gid != nobody {
		t.Errorf("%v, %v", st, err)
	}
	a := h.start()
	a.sleeping()
	a.signal(syscall.SIGKILL) // its command does not heed SIGTERM
	a.ended()
	testneed.Until(t, "the command lives", func() bool { return !a.sleeps() })
	a = h.start("--wait", "forever")
	a.sleeping()
	outsider := newHost(t, "y", etcd).give(as(nobody-1, nobody-1))
	outsider.shared, outsider.fixedURL = h.shared, h.url()
	if r := outsider.start(); r.ended() != 74 || r.sleeps() || !strings.Contains(r.stderr.String(), "permission denied") {
		t.Errorf("who is no member: %s", r.stderr.String())
	}
	rival := newHost(t, "x", etcd).give(as(nobody-1, nobody))
	rival.shared, rival.fixedURL = h.shared, h.url()
	if r := rival.start("--held-exit", "75"); r.ended() != 75 || !strings.Contains(r.stderr.String(), "another user of this host") || strings.Contains(r.stderr.String(), h.dir) {
		t.Errorf("another user: %s", r.stderr.String())
	}
	if !a.sleeps() {
		t.Error("it was hurt")
	}
}

// An agent that is not root's serves its own user; others neither believe nor get it.
func TestSharedOfAUser(t *testing.T) {
	t.Parallel()
	testneed.Root(t)
	etcd := engine(t)
	h := newHost(t, "x", etcd).give(as(nobody, nobody))
	h.shared = shareAs(t, h.user, h.base, h.url())
	a := h.start()
	a.sleeping()
	root := newHost(t, "y", etcd)
	root.shared, root.fixedURL = h.shared, h.url()
	if r := root.start(); r.ended() != 74 || r.started() || !strings.Contains(r.stderr.String(), "neither root nor this user") {
		t.Errorf("root: %s", r.stderr.String())
	}
	c, err := net.Dial("unix", h.shared.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if m, err := wire.NewReader(c).Read(); err != nil || m.Fault != wire.Denied || !strings.Contains(m.Text, "uid 0") {
		t.Errorf("%+v, %v", m, err)
	}
	a.signal(syscall.SIGTERM)
	a.signal(syscall.SIGTERM)
	a.ended()
}
