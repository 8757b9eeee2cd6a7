package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/clustertest"
	"github.com/solehold/solehold/internal/testneed"
)

// stickyTTL is short: a wait is a part of it, and nothing else depends on it.
const stickyTTL = "2s"

// stick starts a run with a sticky claim. Its engine's silence is seen after a few seconds.
func (h *host) stick(args ...string) *run {
	return h.start(append([]string{"--cluster-down=sticky", "--timeout", "5s"}, args...)...)
}

// stickyHost is a host with short times.
func stickyHost(t *testing.T, lock, engine string) *host {
	h := newHost(t, lock, engine)
	h.ttl = stickyTTL
	return h
}

// kept is what the directory keeps.
func (h *host) kept() (k struct {
	Token  uint64
	Sticky *struct {
		Lock, Nonce, Host string
		Token             uint64
		Places            []struct{ B, D string }
	}
},
) {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, ".solehold", "cluster.json"))
	if err != nil {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &k); err != nil {
		h.t.Fatal(err)
	}
	return k
}

// says waits for a line of a run.
func (r *run) says(what string) {
	r.t.Helper()
	testneed.Until(r.t, fmt.Sprintf("it does not say %q: %s", what, r.stderr.String()), func() bool { return strings.Contains(r.stderr.String(), what) })
}

// engineTime is how long something goes on without the engine: more than three times to live.
func engineTime(t *testing.T) {
	t.Helper()
	ttl, err := time.ParseDuration(stickyTTL)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(3*ttl + ttl/2)
}

// The engine is cut off while a sticky claim is held: the command works on for more than three times to live. Its wrapper
// is killed, and started again while the engine is away: it goes on with the same token. When the engine is back it is
// verified. Another host is refused all the while, and told what to do.
func TestStickyOutlivesTheEngine(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	first, second := stickyHost(t, "kb", etcd), stickyHost(t, "kb", etcd)
	a := first.stick("--name", "kb")
	one := a.works()
	if k := first.kept(); k.Sticky == nil || k.Sticky.Token != one.Token || len(k.Sticky.Places) != 1 || k.Token != one.Token {
		t.Fatalf("%+v of token %d", k, one.Token)
	}
	first.proxy.Cut()
	cut := cluster.SystemClock().Now()
	engineTime(t)
	if now := a.acted(); now < cut+3*time.Second {
		t.Fatalf("it has stopped: %s", a.stderr.String())
	}
	refusedSticky(t, second, one.Token)

	a.cmd.Process.Kill()
	a.ended()
	b := first.stick()
	two := b.works()
	if two.Token != one.Token {
		t.Errorf("token %d, and %d before", two.Token, one.Token)
	}
	b.says("going on with the sticky claim")
	engineTime(t)
	if _, ok := b.begun(); !ok || cluster.SystemClock().Now()-b.acted() > 2*time.Second {
		t.Fatalf("it has stopped: %s", b.stderr.String())
	}
	first.proxy.Heal()
	b.says("the engine answers, and has the sticky claim")
	b.signal(syscall.SIGTERM)
	if code := b.ended(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("code %d: %s", code, b.stderr.String())
	}
	refusedSticky(t, second, one.Token) // the claim is the host's, not the run's
	shownSticky(t, first, one.Token)
}

// refusedSticky starts a run that must be refused at once.
func refusedSticky(t *testing.T, h *host, token uint64) {
	t.Helper()
	r := h.stick("--wait", "forever", "--held-exit", "75")
	code, said := r.ended(), r.stderr.String()
	self, _ := os.Hostname()
	for _, want := range []string{"on host " + self, " since 20", fmt.Sprintf(`solehold cluster break --cluster URL "kb" --token %d --reason TEXT`, token)} {
		if code != 75 || !strings.Contains(said, want) || r.started() {
			t.Fatalf("code %d, without %q: %s", code, want, said)
		}
	}
}

// shownSticky looks at what others are shown.
func shownSticky(t *testing.T, h *host, token uint64) {
	t.Helper()
	_, history := exited(t, tool, "history", "--json", h.dir)
	if want := fmt.Sprintf("%s, sticky, token %d", claimKey(h.name), token); !strings.Contains(plain(t, history), want) {
		t.Errorf("not in the history: %s\n%s", want, history)
	}
	code, text := exited(t, tool, "status", "--cluster", h.url(), h.name)
	if code != 0 || !strings.Contains(text, "sticky since 20") || !strings.Contains(text, "nothing worked under it") {
		t.Errorf("code %d: %s", code, text)
	}
}

// breakIt is an operator.
func breakIt(t *testing.T, h *host, token uint64) {
	t.Helper()
	code, text := exited(t, tool, "cluster", "break", "--cluster", h.url(), h.name, "--token", fmt.Sprint(token), "--reason", "its host is gone")
	if code != 0 || !strings.Contains(text, "was last seen at 20") || !strings.Contains(text, "dead or fenced") {
		t.Fatalf("code %d: %s", code, text)
	}
}

// A break tells the holder, whose command ends before the next owner's begins, with a higher token. What the holder kept is
// gone, so that it does not go on with it when the engine is away.
func TestStickyBroken(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	first, second := stickyHost(t, "kb", etcd), stickyHost(t, "kb", etcd)
	a := first.stick()
	one := a.works()
	breakIt(t, first, one.Token)
	a.says("its host is gone") // a successor's claim takes the reason's place
	b := second.stick()
	if code := a.ended(); code != 76 || !strings.Contains(a.stderr.String(), "its host is gone") {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	two := b.works()
	if gap := two.Owned - a.acted(); gap <= 0 || two.Token <= one.Token {
		t.Errorf("the next owner began %v after the end of the one before, token %d after %d", gap, two.Token, one.Token)
	}
	if k := first.kept(); k.Sticky != nil || k.Token != one.Token {
		t.Errorf("%+v is kept", k)
	}
	first.proxy.Cut()
	c := first.stick()
	if code := c.ended(); code != 74 || c.started() {
		t.Errorf("code %d: %s", code, c.stderr.String())
	}
	b.signal(syscall.SIGTERM)
	b.ended()
}

// A holder that cannot be reached works on, and is told when it can be. What was broken while nobody ran is told at the
// next start, which starts nothing; the one after makes a claim of its own.
func TestStickyBrokenUnseen(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h, other := stickyHost(t, "kb", etcd), stickyHost(t, "kb", etcd)
	a := h.stick()
	one := a.works()
	h.proxy.Cut()
	breakIt(t, other, one.Token)
	engineTime(t)
	select {
	case <-a.done:
		t.Fatal(a.stderr.String())
	default:
	}
	h.proxy.Heal()
	if code := a.ended(); code != 76 {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	b := h.stick()
	two := b.works()
	b.signal(syscall.SIGTERM)
	b.ended()
	breakIt(t, other, two.Token)
	c := h.stick()
	if code := c.ended(); code != 76 || c.started() || !strings.Contains(c.stderr.String(), "its host is gone") {
		t.Errorf("code %d: %s", code, c.stderr.String())
	}
	d := h.stick()
	if three := d.works(); three.Token <= two.Token || two.Token <= one.Token {
		t.Errorf("tokens %d, %d, %d", one.Token, two.Token, three.Token)
	}
	d.signal(syscall.SIGTERM)
	d.ended()
}

// Neither kind of claim is taken for the other.
func TestStickyAndLeaseRefuseEachOther(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h, other := stickyHost(t, "kb", etcd), stickyHost(t, "kb", etcd)
	a := h.stick()
	one := a.works()
	refused := func(r *run, says string) {
		t.Helper()
		if code := r.ended(); code != 78 || r.started() || !strings.Contains(r.stderr.String(), says) {
			t.Errorf("code %d, want %q: %s", code, says, r.stderr.String())
		}
	}
	refused(other.start("--wait", "forever"), "this run wants one with a lease")
	a.signal(syscall.SIGTERM)
	a.ended()
	refused(h.start(), "has a sticky claim")
	refused(other.start(), fmt.Sprintf("--token %d", one.Token))
	breakIt(t, other, one.Token)
	b := other.start()
	b.works()
	third := stickyHost(t, "kb", etcd)
	refused(third.stick(), "its claim has a lease")
	b.signal(syscall.SIGTERM)
	b.ended()
}

// copied gives a host with a copy of another's directory.
func (h *host) copied(name string) *host {
	h.t.Helper()
	c := *h
	c.dir = filepath.Join(h.base, name)
	c.base = h.t.TempDir()
	if out, err := exec.Command("cp", "-a", h.dir, c.dir).CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return &c
}

// machine makes a host's runs see another boot and machine; "" is a machine that cannot be told from its copies.
func (h *host) machine(boot, uuid string) *host {
	h.t.Helper()
	c := *h
	c.base = h.t.TempDir()
	dir := h.t.TempDir()
	for name, text := range map[string]string{"boot_id": boot, "product_uuid": uuid} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
	c.env = append(c.env, "CREDENTIALS_DIRECTORY="+dir)
	c.through = []string{"unshare", "-m", "sh", "-c", `mount --bind "$0"/boot_id /proc/sys/kernel/random/boot_id && exec "$@"`, dir}
	return &c
}

const (
	uuidA, uuidB = "5a9c0b1e-77d2-4f6e-9f51-0d3a1b2c4e8f", "c2b8f1d4-03aa-4b7f-8e65-9a7d6c5b4e3f"
	boot1, boot2 = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-9999-aaaaaaaaaaaa"
)

// A copy of the directory has no claim; nor has a copy of the disk in another machine, or in one that cannot be told from
// its copies. The machine itself goes on after a reboot, also while the engine is away.
func TestStickyCopies(t *testing.T) {
	t.Parallel()
	needMounts(t)
	etcd := engine(t)
	h := stickyHost(t, "kb", etcd)
	first := h.machine(boot1, uuidA)
	a := first.stick()
	one := a.works()
	refused := func(h *host, says string) {
		t.Helper()
		r := h.stick()
		if code := r.ended(); code != 78 || r.started() || !strings.Contains(r.stderr.String(), says) {
			t.Errorf("code %d, want %q: %s", code, says, r.stderr.String())
		}
	}
	refused(h.copied("a").machine(boot1, uuidA), "another directory of this machine")
	refused(h.copied("b").machine(boot2, uuidA), "another machine or directory")
	a.signal(syscall.SIGTERM)
	a.ended()
	h.proxy.Cut()
	refused(h.machine(boot2, uuidB), "another machine or directory")
	refused(h.machine(boot2, ""), "cannot be told from a copy")
	refused(h.machine(boot2, "00000000-0000-0000-0000-000000000000"), "cannot be told from a copy")
	b := h.machine(boot2, uuidA).stick()
	if two := b.works(); two.Token != one.Token {
		t.Errorf("token %d after %d", two.Token, one.Token)
	}
	if k := h.kept(); len(k.Sticky.Places) != 2 {
		t.Errorf("%+v", k.Sticky)
	}
	h.proxy.Heal()
	b.says("the engine answers, and has the sticky claim")
	if k := h.kept(); len(k.Sticky.Places) != 1 {
		t.Errorf("%+v", k.Sticky)
	}
	b.signal(syscall.SIGTERM)
	b.ended()
}

// A machine that cannot be told from its copy, with the same hardware and disk, is found out at the engine: who comes later
// waits, and who had the claim is told, and dead, before.
func TestStickyCopiedMachine(t *testing.T) {
	t.Parallel()
	needMounts(t)
	etcd := engine(t)
	h := stickyHost(t, "kb", etcd)
	a := h.machine(boot1, uuidA).stick()
	one := a.works()
	c := h.copied("copy")
	c.pretend(c.machine(boot2, uuidA))
	b := c.machine(boot2, uuidA).stick()
	two := b.works()
	if code := a.ended(); code != 76 || !strings.Contains(a.stderr.String(), "a copy of this directory") {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	if gap := two.Owned - a.acted(); gap <= 0 || two.Token != one.Token {
		t.Errorf("the copy began %v after the end of who had it, token %d of %d", gap, two.Token, one.Token)
	}
	if !strings.Contains(b.stderr.String(), "lock-delay") {
		t.Error(b.stderr.String())
	}
	b.signal(syscall.SIGTERM)
	b.ended()
}

// pretend makes a copy of a directory the one of a copied machine: it has the same path and inode there, which one machine
// cannot have twice. What the directory would keep of itself is what it keeps for another lock.
func (h *host) pretend(as *host) {
	h.t.Helper()
	page := filepath.Join(h.dir, ".solehold", "cluster.json")
	before, err := os.ReadFile(page)
	if err != nil {
		h.t.Fatal(err)
	}
	from := h.kept().Sticky.Host
	if err := os.Remove(page); err != nil {
		h.t.Fatal(err)
	}
	as.name = "another"
	a := as.stick()
	a.works()
	a.signal(syscall.SIGTERM)
	a.ended()
	text := strings.ReplaceAll(string(before), from, h.kept().Sticky.Host)
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func needMounts(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// An operator makes a lock sticky for a host beforehand: nothing is started, and others are refused.
func TestStickyClaimedBeforehand(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h, other := stickyHost(t, "kb", etcd), stickyHost(t, "kb", etcd)
	code, text := exited(t, tool, "cluster", "claim", "--sticky", "--cluster", h.url(), h.name, h.dir)
	if code != 0 || !strings.Contains(text, "is sticky for") {
		t.Fatalf("code %d: %s", code, text)
	}
	token := h.kept().Sticky.Token
	refusedSticky(t, other, token)
	if code, text := exited(t, tool, "cluster", "claim", "--sticky", "--cluster", other.url(), other.name, other.dir); code != 75 || !strings.Contains(text, "cluster break") {
		t.Errorf("code %d: %s", code, text)
	}
	for _, wrong := range [][]string{{"--cluster", h.url(), h.name, h.dir}, {"--sticky", h.name, h.dir}, {"--sticky", "--cluster", h.url(), h.name}} {
		if code, text := exited(t, tool, append([]string{"cluster", "claim"}, wrong...)...); code != 64 {
			t.Errorf("%q: code %d: %s", wrong, code, text)
		}
	}
	mixed := []string{"run", "--cluster", h.url(), "--cluster-name", h.name, "--cluster-down=sticky", "--cluster-agent", "/nowhere", h.dir, "--", "true"}
	if code, text := exited(t, tool, mixed...); code != 64 || !strings.Contains(text, "an agent of its own") {
		t.Errorf("with the agent of the host: code %d: %s", code, text)
	}
	h.env = append(h.env, "SOLEHOLD_CLUSTER_AGENT=/nowhere") // is for the others of this host
	h.proxy.Cut()
	a := h.stick()
	if one := a.works(); one.Token != token {
		t.Errorf("token %d, want %d", one.Token, token)
	}
	a.signal(syscall.SIGTERM)
	a.ended()
}

// An engine that was restored, or another one, does not have the claim: the holder stops, and its next claim is refused as
// long as the engine's tokens are not above those that were seen.
func TestStickyEngineLostItsData(t *testing.T) {
	t.Parallel()
	old := engine(t)
	for i := range 50 {
		put(t, old, "/other", fmt.Sprint(i))
	}
	h := stickyHost(t, "kb", old)
	a := h.stick()
	one := a.works()
	remove(t, old, "/test")
	if code := a.ended(); code != 76 || !strings.Contains(a.stderr.String(), "lost its data") {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	h.proxy = clustertest.NewProxy(t, engine(t))
	b := h.stick()
	if code := b.ended(); code != 78 || b.started() || !strings.Contains(b.stderr.String(), fmt.Sprintf("after %d", one.Token)) {
		t.Errorf("code %d: %s", code, b.stderr.String())
	}
	if code, text := exited(t, tool, "status", "--cluster", h.url(), h.name); code != 3 {
		t.Errorf("its claim with a token that does not rise is left: code %d: %s", code, text)
	}
}

// The engine itself is killed, not only the way to it, and comes back with its data: nothing happens to the command, also
// where nobody listens any more. The next run is verified as before.
func TestStickyEngineRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	client, peer := freeURL(), freeURL()
	e, err := startEtcdAt(dir, client, peer)
	if err != nil {
		t.Fatal(err)
	}
	<-e.Server.ReadyNotify()
	h := stickyHost(t, "kb", client.Host)
	h.at = client.Host
	a := h.stick()
	one := a.works()
	e.Close()
	cut := cluster.SystemClock().Now()
	engineTime(t)
	if now := a.acted(); now < cut+3*time.Second {
		t.Fatalf("it has stopped: %s", a.stderr.String())
	}
	a.signal(syscall.SIGTERM)
	if code := a.ended(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	b := h.stick()
	if two := b.works(); two.Token != one.Token {
		t.Errorf("token %d after %d", two.Token, one.Token)
	}
	if e, err = startEtcdAt(dir, client, peer); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	b.says("the engine answers, and has the sticky claim")
	b.signal(syscall.SIGTERM)
	b.ended()
}

// A wrapper that is frozen hears of nothing: its agent stops the command when the claim was broken. An agent that is killed
// would hear of no break, so the command is stopped, and the claim stays.
func TestStickyFrozenAndAlone(t *testing.T) {
	t.Parallel()
	etcd := engine(t)
	h, other := stickyHost(t, "kb", etcd), stickyHost(t, "kb", etcd)
	a := h.stick()
	one := a.works()
	syscall.Kill(a.agent(), syscall.SIGKILL)
	if code := a.ended(); code != 76 || !strings.Contains(a.stderr.String(), "the claim stays") {
		t.Errorf("code %d: %s", code, a.stderr.String())
	}
	b := h.stick()
	if two := b.works(); two.Token != one.Token {
		t.Errorf("token %d after %d", two.Token, one.Token)
	}
	b.signal(syscall.SIGSTOP)
	breakIt(t, other, one.Token)
	c := other.stick()
	three := c.works()
	if last := b.acted(); last >= three.Owned {
		t.Errorf("the command of a frozen wrapper acted %v after the next owner began", last-three.Owned)
	}
	if code := b.ended(); code != 128+int(syscall.SIGKILL) { // the agent's last resort
		t.Errorf("code %d: %s", code, b.stderr.String())
	}
	if k := h.kept(); k.Sticky != nil {
		t.Errorf("%+v is kept", k)
	}
	c.signal(syscall.SIGTERM)
	c.ended()
}
