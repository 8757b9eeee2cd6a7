package supervise

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solehold/solehold"
	"github.com/solehold/solehold/internal/policy"
	"github.com/solehold/solehold/internal/sdnotify"
)

// relay stands between the command and the service manager above this process,
// which only listens to this process. What the command says goes on to the
// manager, but for what would be wrong there; what this process knows of the
// command goes to the manager too.
type relay struct {
	own       *sdnotify.Socket // what the command speaks to; nil where it could not be made
	upstream  *sdnotify.Upstream
	above     bool // there is a manager
	deaf      bool // that it does not hear was said
	activated bool // sockets of the manager are meant for this pid
	notices   chan notice
	beats     beats
	offered   time.Duration // the watchdog that the command is to pet; 0 for that of the manager

	clusterToken uint64 // what the command gets in place of the directory's; 0 without a cluster

	watchdog *time.Ticker // at which the manager must hear from us; nil without
	pets     bool         // the command speaks to the watchdog itself
	probed   bool         // there are probes
	tell     func(format string, args ...any)
	done     chan struct{} // closed when nobody takes notices any more
}

// newRelay makes the socket for the command. Everything is optional: a service
// works without its manager's ear.
func newRelay(r *runner) *relay {
	l := &relay{
		notices: make(chan notice), tell: r.c.Say, done: r.done, probed: r.c.Health != nil || r.c.Startup != nil,
		activated: os.Getenv(sdnotify.ListenPIDVar) == strconv.Itoa(os.Getpid()),
	}
	if r.agent != nil {
		l.clusterToken = r.agent.granted.Token
	}
	for _, c := range []*Check{r.c.Health, r.c.Startup} {
		if c != nil && c.Beat > 0 {
			l.offered = c.Beat
		}
	}
	name := os.Getenv(sdnotify.SocketVar)
	l.above = name != ""
	var err error
	if l.upstream, err = sdnotify.Dial(name); err != nil {
		r.c.Say("%s: %v", sdnotify.SocketVar, err)
	}
	if limit, ok := watchdog(); ok && l.above {
		l.watchdog = time.NewTicker(limit / 2)
	}
	return l
}

// notice is what came, and for which life.
type notice struct {
	sdnotify.Message
	to *sdnotify.Socket
}

// renew makes the socket of one life: what is still under way in that of the one
// before must not speak for it.
func (l *relay) renew() {
	if l.own != nil {
		l.own.Close()
	}
	own, err := sdnotify.Listen()
	if l.own = own; errors.Is(err, errors.ErrUnsupported) {
		return // systemd's protocol is Linux' own
	}
	if err != nil {
		l.own = nil
		l.tell("a socket for what the command says of itself: %v", err)
		return
	}
	go l.listen(own)
}

// watchdog reads the manager's limit, where that is meant for this process.
func watchdog() (time.Duration, bool) {
	usec, err := strconv.ParseInt(os.Getenv(sdnotify.WatchdogVar), 10, 64)
	pid := os.Getenv(sdnotify.WatchdogPIDVar)
	mine := pid == "" || pid == strconv.Itoa(os.Getpid())
	return time.Duration(usec) * time.Microsecond, err == nil && mine && usec >= 2
}

func (l *relay) listen(own *sdnotify.Socket) {
	for {
		m, _, err := own.Receive()
		if err != nil {
			return
		}
		select {
		case l.notices <- notice{m, own}:
		case <-l.done:
			m.Drop()
			return
		}
	}
}

// due is when the manager must hear that the service lives.
func (l *relay) due() <-chan time.Time {
	if l.watchdog == nil {
		return nil
	}
	return l.watchdog.C
}

// pet speaks to the manager's watchdog for a command that does not do that, or is
// not there, as long as it is not failing its probes.
func (l *relay) pet(s policy.State) {
	lives := s == policy.Starting || s == policy.Ready
	if s == policy.Unhealthy || lives && (l.pets || !l.probed) {
		return // without probes nobody but the command knows
	}
	l.say("WATCHDOG=1") // also between two lives: the delay is wanted
}

// say tells the manager something of our own.
func (l *relay) say(text string) { l.pass(sdnotify.Parse([]byte(text))) }

func (l *relay) pass(m sdnotify.Message) {
	err := l.upstream.Send(m)
	if err != nil && !l.deaf {
		l.tell("the service manager's socket %s does not take what is said: %v", os.Getenv(sdnotify.SocketVar), err)
	}
	l.deaf = err != nil
}

func (l *relay) close() {
	if l == nil {
		return
	}
	if l.own != nil {
		l.own.Close()
	}
	if l.watchdog != nil {
		l.watchdog.Stop()
	}
	l.upstream.Close()
}

// notice takes what the command said, and passes it on without what only its
// wrapper may say: the main process is the wrapper, and a failing service must
// not calm the watchdog.
func (r *runner) notice(m notice) {
	defer m.Drop()
	if m.to != r.relay.own {
		return // of a life that is over
	}
	if extend, ok := m.Get("EXTEND_TIMEOUT_USEC"); ok {
		r.extend(extend)
	}
	if m.Ready() || m.Watchdog() {
		r.relay.beats.beat(false)
	}
	drop := []string{"MAINPID"}
	if m.Watchdog() {
		if r.relay.pets = true; r.machine.State() == policy.Unhealthy {
			drop = append(drop, "WATCHDOG")
		}
	}
	r.relay.pass(m.Without(drop...))
	if m.Ready() && r.child != nil && r.end == nil {
		status, _ := m.Get("STATUS")
		r.markReadyBy(status)
	}
}

// markReadyBy takes the command's own word that it serves. The manager has heard
// it already.
func (r *runner) markReadyBy(status string) {
	how := "as it says itself"
	if status != "" {
		how += "; " + status
	}
	r.nowReady(how)
	r.feed(policy.Input{Kind: policy.ChildReady, For: r.id, Reason: status})
}

// extend gives a command that asks for it more time to stop.
func (r *runner) extend(usec string) {
	n, err := strconv.ParseInt(usec, 10, 64)
	more := time.Duration(n) * time.Microsecond
	if err != nil || n <= 0 || more > longestExtension || !r.stopping || r.killing {
		return
	}
	if until := time.Now().Add(more); until.After(r.killAt) {
		r.killAt, r.deadline = until, time.After(more)
	}
}

// longestExtension bounds what a command may ask for at once; it may ask again.
const longestExtension = time.Hour

// environment tells a new life whose directory it works in, and whom to tell of
// itself. Values of a run around this one are replaced.
func (l *relay) environment(lock *solehold.Lock) []string {
	l.renew()
	set := environment(lock)
	if l.clusterToken != 0 {
		set[solehold.TokenVar] = strconv.FormatUint(l.clusterToken, 10)
	}
	drop := []string{sdnotify.WatchdogPIDVar, solehold.NotifyVar}
	if _, ours := watchdog(); !ours {
		drop = append(drop, sdnotify.WatchdogVar) // of somebody else
	}
	if l.own != nil {
		set[solehold.NotifyVar] = l.own.Name()
		if l.above || l.offered > 0 {
			set[sdnotify.SocketVar] = l.own.Name()
		}
	}
	if l.offered > 0 {
		set[sdnotify.WatchdogVar] = strconv.FormatInt(l.offered.Microseconds(), 10)
	}
	return environ(set, drop)
}

// environ is our environment with changes.
func environ(set map[string]string, drop []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, ours := set[name]
		return ours || slices.Contains(drop, name)
	})
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}
