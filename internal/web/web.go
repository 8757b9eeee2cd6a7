// Package web is the local page: every data directory of this host at a glance, its
// past, its incidents, who waits for whom, and what doctor finds. The same is there
// as JSON, and changes are told as they come.
//
// It only shows. It answers GET and HEAD, on a loopback address or a Unix socket, to
// browsers that ask for it by a name that it was given; it takes no lock, writes no
// file, and loads nothing from elsewhere. What it shows was written by others: it is
// escaped and bounded.
package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solehold/solehold/internal/diagnose/overview"
	"github.com/solehold/solehold/internal/hostmetrics"
	"github.com/solehold/solehold/internal/remote"
)

// Options say what to show, and to whom.
type Options struct {
	// Overview says what to look at.
	Overview overview.Options
	// Hosts are names, beside localhost and the loopback addresses, by which a browser
	// may ask.
	Hosts []string
	// Every is the pause between two looks while somebody watches; by default a second.
	Every time.Duration
	// Clusters are engines that are asked who has their locks; nil for none.
	Clusters *remote.Watcher
	// Ready is called once, when there is something to show; nil means nobody.
	Ready func()
}

const (
	// idle is how much longer the pause is when nobody watches.
	idle = 15
	// watching is how long after a question somebody counts as watching.
	watching = time.Minute
	// mostStreams is how many may be told of changes at once.
	mostStreams = 64
	// mostConnections is how many connections are served at once; others wait.
	mostConnections = 512
	// mostHeader bounds the header of a question in bytes.
	mostHeader = 16 << 10
	headerTime = 5 * time.Second
	answerTime = 30 * time.Second
	pauseTime  = time.Minute
)

// Server shows what a watcher sees.
type Server struct {
	o       Options
	watcher *overview.Watcher
	metrics *hostmetrics.Metrics
	pages   pages
	hosts   map[string]bool

	asked   atomic.Int64 // when somebody asked last, in Unix seconds
	wake    chan struct{}
	streams atomic.Int64

	mu     sync.Mutex
	change chan struct{} // closed at the next change
	looked chan struct{} // closed at the next look
}

// New returns a server that has not looked yet.
func New(o Options) (*Server, error) {
	if o.Every <= 0 {
		o.Every = time.Second
	}
	p, err := parsePages()
	if err != nil {
		return nil, err
	}
	s := &Server{
		o: o, watcher: overview.NewWatcher(o.Overview), pages: p, wake: make(chan struct{}, 1),
		change: make(chan struct{}), looked: make(chan struct{}),
		hosts: map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true},
	}
	for _, name := range o.Hosts {
		s.hosts[hostName(name)] = true
	}
	if o.Clusters != nil {
		o.Clusters.OnNews(func() { s.tell(true) })
	}
	s.metrics, err = hostmetrics.New(func(ctx context.Context) (overview.Host, []remote.Cluster) {
		h := s.host(ctx)
		clusters, _ := s.o.Clusters.Last()
		return h, clusters
	})
	return s, err
}

// Serve answers on l until ctx ends, and then closes it. The error is nil then.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var looking sync.WaitGroup
	looking.Go(func() { s.watch(ctx) })
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTime, ReadTimeout: 2 * headerTime, WriteTimeout: answerTime, IdleTimeout: pauseTime,
		MaxHeaderBytes: mostHeader, ErrorLog: silent(), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	context.AfterFunc(ctx, func() { server.Close() }) // nothing is lost by it
	err := server.Serve(bounded(l, mostConnections))
	stop()
	looking.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// watch looks again and again: often while somebody watches.
func (s *Server) watch(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		case <-s.wake:
		}
		before := s.watcher.Last().Revision
		h := s.watcher.Look(ctx)
		s.o.Clusters.Want(ctx)
		s.tell(h.Revision != before)
		if before == 0 && h.Revision > 0 && s.o.Ready != nil {
			s.o.Ready()
		}
		pause.Reset(s.pause())
	}
}

func (s *Server) pause() time.Duration {
	if s.streams.Load() > 0 || time.Since(time.Unix(s.asked.Load(), 0)) < watching {
		return s.o.Every
	}
	return idle * s.o.Every
}

// tell wakes those who wait for a look, or for a change.
func (s *Server) tell(changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.looked)
	s.looked = make(chan struct{})
	if changed {
		close(s.change)
		s.change = make(chan struct{})
	}
}

func (s *Server) next() (change, looked <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change, s.looked
}

// last is what was last seen. Its revision rises with what the engines say, too.
func (s *Server) last() overview.Host {
	h := s.watcher.Last()
	if _, n := s.o.Clusters.Last(); h.Revision > 0 {
		h.Revision += n
	}
	return h
}

// host is what is to be shown: the newest look, and a new one if that is old and a
// new one is there soon.
func (s *Server) host(ctx context.Context) overview.Host {
	s.asked.Store(time.Now().Unix())
	h := s.last()
	if h.Revision > 0 && time.Since(h.At) < 2*s.o.Every {
		return h
	}
	_, looked := s.next()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	patience := 50 * time.Millisecond
	if h.Revision == 0 {
		patience = answerTime / 2 // there is nothing else to show
	}
	soon := time.NewTimer(patience)
	defer soon.Stop()
	select {
	case <-looked:
	case <-soon.C:
	case <-ctx.Done():
	}
	return s.last()
}
