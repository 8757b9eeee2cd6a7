package solehold

import (
	"context"
	"fmt"
	"os"
	"sync"
)

// Lock is a held data directory. Its methods may be called from any goroutine.
//
// A Lock that is dropped without Release stays held until the process exits,
// never until the next garbage collection.
type Lock struct {
	core  *core // what the system holds open
	name  string
	token uint64

	ctx    context.Context
	cancel context.CancelCauseFunc

	releaseRequested chan struct{}
	askOnce          sync.Once
	request          ReleaseRequest // written before releaseRequested is closed

	mu    sync.Mutex // guards what follows
	count int        // acquisitions through the context
}

// Context is cancelled with a *LostError as its cause as soon as the lock can no
// longer be proven, and with context.Canceled by the last Release. It carries
// the values of the context given to Acquire but not its end: that bounded the
// acquisition only. Acquire with this context, or one derived from it, and the
// same directory gives the same lock again.
func (l *Lock) Context() context.Context { return l.ctx }

// Token is the fencing token: higher than that of every earlier acquisition of
// this directory. Give it to whatever stores data elsewhere, so that writes of
// an earlier owner can be told.
func (l *Lock) Token() uint64 { return l.token }

// Dir is where the directory is now, free of symlinks.
func (l *Lock) Dir() string { return l.core.dirPath() }

// Name is the name that others see for this holder.
func (l *Lock) Name() string { return l.name }

// Filesystem tells where the directory lies, and in Warning why one owner could
// not be promised there.
func (l *Lock) Filesystem() Filesystem { return l.core.filesystem() }

// ReleaseRequested is closed when somebody asked this holder to let go. It is a
// request: nothing happens unless the program finishes its work and calls
// Release.
func (l *Lock) ReleaseRequested() <-chan struct{} { return l.releaseRequested }

// ReleaseRequest is what was asked, and by whom, once ReleaseRequested is
// closed; before that it is empty. Its texts were written by others.
func (l *Lock) ReleaseRequest() ReleaseRequest {
	select {
	case <-l.releaseRequested:
		return l.request
	default:
		return ReleaseRequest{}
	}
}

// Release gives the directory back. Every acquisition through the context needs
// its own; the last one lets go. Calling it more often does nothing. An error
// says that the history may not show the release; the lock is given up all the
// same. Where descriptors were shared with a child that still lives, the
// directory stays held by that child.
func (l *Lock) Release() error {
	l.mu.Lock()
	l.count--
	last := l.count == 0
	l.mu.Unlock()
	if !last {
		return nil
	}
	l.cancel(context.Canceled)
	return l.core.release()
}

// Abandon gives the directory back without having worked in it: what the
// predecessor left in its record stays for the next starter to see. Use it in
// place of Release after Orphan has found somebody.
func (l *Lock) Abandon() error {
	l.mu.Lock()
	l.count = 0
	l.mu.Unlock()
	l.cancel(context.Canceled)
	return l.core.abandon()
}

// Ready writes down that the service answers. Below `solehold run` the wrapper is
// told, which does that and tells the service manager.
func (l *Lock) Ready() error { return l.core.setReady("") }

// ReadyBy is Ready, and says in the history how that is known.
func (l *Lock) ReadyBy(how string) error { return l.core.setReady(how) }

// Child is a process that a holder runs in its place.
type Child struct {
	// PID is the process.
	PID int
	// Command is its command line; by default what the kernel shows, which is
	// not complete while a program is just being started.
	Command []string
	// Cgroup is the path of the cgroup made for it, if one was.
	Cgroup string
}

// SetChild writes down that the holder runs this child, which others then see as
// the owner; nil says that it runs none any more.
func (l *Lock) SetChild(c *Child) error { return l.core.setChild(c) }

// Cluster is a lock at a cluster engine that a holder has besides its directory.
type Cluster struct {
	// Engine is its name: "etcd".
	Engine string `json:"engine"`
	// Key is where the claim lies in the engine.
	Key string `json:"key"`
	// Token is the engine's fencing token. It is what the holder's programs are given.
	Token uint64 `json:"token"`
	// Sticky says that the claim has no lease: it stays when the holder ends.
	Sticky bool `json:"sticky,omitempty"`
}

// SetCluster writes down that the holder also has a lock at a cluster engine. The
// next acquisition of this directory gets a token above that one too.
func (l *Lock) SetCluster(c Cluster) error { return l.core.setCluster(c) }

// Share returns the descriptors that carry the lock, for a child that is to keep
// the directory when this process dies. After this call Release closes them
// without unlocking, so that a child which still has them goes on holding. On
// Windows it is one handle, which has to be made inheritable first.
func (l *Lock) Share() []uintptr { return l.core.share() }

// Joined reports whether a process has joined this holder: a program below it that
// takes the directory itself, as it would do alone. It hears a request to let go as
// the holder does. Where that cannot be found out within [Options.Timeout] it is false.
func (l *Lock) Joined() bool { return l.core.joinedBelow() }

// Become writes down that this process is about to turn into another program
// (execve) and lets the lock's descriptors survive that. The program holds the
// directory for as long as it keeps them open. Windows has nothing like it:
// errors.ErrUnsupported.
func (l *Lock) Become(command []string) error { return l.core.become(command) }

// Orphan is the command of an earlier `solehold run` that lives on although its
// wrapper is gone and it does not hold the directory; nil where there is none.
// It is Proven where its environment names this directory: only then may it be
// stopped for that.
func (l *Lock) Orphan() *Owner { return l.core.orphan() }

// StateRoot opens the directory of solehold's files, for what belongs beside the
// history, as the evidence of an incident does. The caller closes it.
func (l *Lock) StateRoot() (*os.Root, error) { return l.core.stateRoot() }

// Log appends an event to the directory's history. Time, token and, unless
// given, the process are filled in.
func (l *Lock) Log(e Event) error { return l.core.event(e) }

// lose tells the loss, once.
func (l *Lock) lose(why string) {
	l.cancel(&LostError{Path: l.core.dirPath(), Why: why})
}

// ask passes on a request to let go, once.
func (l *Lock) ask(r ReleaseRequest) {
	l.askOnce.Do(func() {
		l.request = r
		close(l.releaseRequested)
	})
}

// again counts one more acquisition of a lock that is still held.
func (l *Lock) again() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count <= 0 {
		return false
	}
	l.count++
	return true
}

// OnlyOrExit takes the directory or ends the process: with code 0 and one line
// on stderr when it already has its owner, since one live owner is what was
// wanted; with the code of ExitCode and one line when it cannot be told or
// taken. A missing directory is made, its parents are not. It never waits and never tries again:
// call it first thing.
func OnlyOrExit(dir string) *Lock {
	lock, err := Acquire(context.Background(), dir, &Options{Create: true})
	if err == nil {
		return lock
	}
	next := ""
	if ExitCode(err) == 0 {
		next = ". Nothing to do."
	}
	fmt.Fprintf(os.Stderr, "solehold: %v%s\n", err, next)
	os.Exit(ExitCode(err)) //archtest:allow exit the documented purpose of this function
	return nil
}
