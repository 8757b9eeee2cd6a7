//go:build !solehold_portable

package supervise

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/lease"
	"github.com/solehold/solehold/internal/procfs"
	"github.com/solehold/solehold/internal/procid"
)

// sticky judges what the directory keeps of a sticky claim, and writes down what
// the engine is about to be asked: a start that dies in between finds it again. It
// is nil for a run that wants a lease, which never works beside a claim without.
func (r *runner) sticky(seen *seenToken) (*wire.Sticky, error) {
	if !r.c.Cluster.Sticky {
		if seen.kept.Token != 0 {
			return nil, &ClusterError{wire.Kept, fmt.Sprintf("%s has a sticky claim, token %d, and this run wants one with a lease: "+
				"run with --cluster-down=sticky, or end it: %s", r.lock.Dir(), seen.kept.Token, breakLine(r.c.Cluster.Name, seen.kept.Token))}
		}
		return nil, nil
	}
	me, err := selfOf(r.lock.Dir(), *r.c.Cluster)
	if err != nil {
		return nil, err
	}
	kept := seen.kept
	s := &wire.Sticky{Place: textOf(me.Place)}
	switch standing := kept.Judge(me); {
	case standing == lease.Nothing:
		kept = lease.Kept{Lock: me.Lock, Nonce: rand.Text(), Host: me.Host}
	case standing == lease.Asked:
	case standing != lease.Ours:
		return nil, &ClusterError{wire.Kept, fmt.Sprintf("the sticky claim that %s keeps, token %d, %s; if nobody else works under it: %s",
			r.lock.Dir(), kept.Token, sentenceOf(standing), breakLine(r.c.Cluster.Name, kept.Token))}
	case kept.Token < seen.token:
		return nil, &ClusterError{wire.Kept, fmt.Sprintf("the sticky claim of %s has token %d, and %d was used here without it; end it: %s",
			r.lock.Dir(), kept.Token, seen.token, breakLine(r.c.Cluster.Name, kept.Token))}
	default:
		s.Token, s.Away, s.Settled = kept.Token, true, kept.IsSettled(me.Place)
	}
	if kept = kept.At(me.Place); me.Host != "" { // the directory may have been moved, or the machine be known only now
		kept.Host = me.Host
	}
	s.Nonce = kept.Nonce
	for _, p := range kept.Places {
		s.Places = append(s.Places, textOf(p))
	}
	return s, seen.keep(seen.token, kept)
}

func breakLine(name string, token uint64) string {
	return fmt.Sprintf("solehold cluster break --cluster URL %q --token %d --reason TEXT", name, token)
}

// sentenceOf says why a kept claim is not to be used.
func sentenceOf(s lease.Standing) string {
	switch s {
	case lease.OtherLock:
		return "is one of another lock or engine"
	case lease.Copied:
		return "is that of another directory of this machine, of which this one is a copy"
	case lease.OtherHost:
		return "is that of another machine or directory, of which this one is a copy"
	case lease.Unproven:
		return "was made in another boot, and this machine cannot be told from a copy of it (" + uuidFile + " cannot be read, or says nothing)"
	case lease.TooOften:
		return fmt.Sprintf("was used in %d boots without a word of the engine", lease.MaxPlaces)
	}
	return "cannot be used: " + s.String()
}

// stuck deals with the answer to a sticky claim: one that is gone is forgotten.
func (r *runner) stuck(seen *seenToken, asked *wire.Sticky, err error) error {
	failed, ok := errors.AsType[*ClusterError](err)
	if asked == nil || !ok || failed.Fault != wire.Gone {
		return err
	}
	return errors.Join(&ClusterLostError{Name: r.c.Cluster.Name, Token: asked.Token, Why: failed.Text}, seen.keep(seen.token, lease.Kept{}))
}

// had writes down what was granted.
func (r *runner) had(seen *seenToken, a *agent) error {
	g, kept := a.granted, seen.kept
	if !a.c.Sticky {
		return seen.keep(g.Token, lease.Kept{})
	}
	if g.Sticky == nil || !g.Sticky.Settled {
		r.c.Say("lock %q of the cluster: the engine does not answer; going on with the sticky claim, token %d", a.c.Name, g.Token)
		return seen.keep(g.Token, kept)
	}
	return seen.keep(g.Token, kept.Settled(kept.Places[0], g.Token))
}

// settled writes down that the engine has said whose the claim is, after a start
// without it.
func (r *runner) settled() {
	r.rewrite(func(k lease.Kept) lease.Kept { return k.Settled(k.Places[0], r.agent.granted.Token) })
	r.c.Say("lock %q of the cluster: the engine answers, and has the sticky claim, token %d", r.agent.c.Name, r.agent.granted.Token)
}

// forget takes note that the claim is gone, before anybody else is told: a start
// that cannot reach the engine must not go on with it.
func (r *runner) forget() {
	if r.agent.c.Sticky && r.lost == nil {
		r.rewrite(func(lease.Kept) lease.Kept { return lease.Kept{} })
	}
}

// ForgetSticky writes down that the sticky claim of this nonce is gone.
func ForgetSticky(dir, stateDir, nonce string) error {
	state, err := datadir.StateOf(dir, stateDir)
	if err != nil {
		return err
	}
	defer state.Close()
	seen := &seenToken{state: state}
	if err := seen.read(); err != nil || seen.kept.Nonce != nonce {
		return err
	}
	return seen.keep(seen.token, lease.Kept{})
}

func (r *runner) rewrite(change func(lease.Kept) lease.Kept) {
	seen, err := openSeen(r)
	if err == nil {
		defer seen.state.Close()
		if seen.kept.Nonce != "" {
			err = seen.keep(seen.token, change(seen.kept))
		}
	}
	if err != nil {
		r.c.Say("cannot write down how the sticky claim is: %v", err)
	}
}

// uuidFile has what tells a machine from its copies, and is read by root. A service
// of another user gets it as a credential: LoadCredential=product_uuid:FILE.
const uuidFile = "/sys/class/dmi/id/product_uuid"

// selfOf tells who wants to use a claim: the machine over its boots, this boot, and
// this directory in it.
func selfOf(dir string, c Cluster) (lease.Self, error) {
	boot, err := procfs.Default().BootID()
	if err != nil {
		return lease.Self{}, err
	}
	st, err := os.Stat(dir)
	if err != nil {
		return lease.Self{}, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return lease.Self{}, errors.ErrUnsupported
	}
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return lease.Self{}, err
	}
	me := lease.Self{
		Lock:  digest(c.Place, c.Name),
		Place: lease.Place{Boot: digest("boot", boot), Dir: digest("dir", fmt.Sprint(sys.Dev, " ", sys.Ino))},
	}
	if uuid := machineUUID(); uuid != "" {
		me.Host = digest(uuid, procid.MachineID(), path, fmt.Sprint(sys.Ino))
	}
	return me, nil
}

// machineUUID tells a machine from its copies; "" where it does not.
func machineUUID() string {
	files := []string{uuidFile}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		files = append(files, filepath.Join(dir, "product_uuid"))
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil {
			return realUUID(strings.TrimSpace(string(text)))
		}
	}
	return ""
}

// realUUID refuses what makers leave in thousands of machines.
func realUUID(text string) string {
	plain := strings.ToLower(strings.ReplaceAll(text, "-", ""))
	raw, err := hex.DecodeString(plain)
	if err != nil || len(raw) != 16 || plain == "03000200040005000006000700080009" {
		return ""
	}
	kinds := map[byte]bool{}
	for _, b := range raw {
		kinds[b] = true
	}
	if len(kinds) < 4 {
		return ""
	}
	return plain
}

// digest makes a short name of texts: what tells machines apart is nobody's business.
func digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:6])
}

func textOf(p lease.Place) string { return p.Boot + "-" + p.Dir }
