package web

import (
	"fmt"
	"net/http"
	"time"
)

// beat is the time after which a stream says that it is alive.
const beat = 15 * time.Second

// events tells of changes by server-sent events, one number each: what has changed
// is asked for then. Beyond a number of streams the answer is 503.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if s.streams.Add(1) > mostStreams {
		s.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "enough listen already; ask again now and then")
		return
	}
	defer s.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	out.SetReadDeadline(time.Time{}) // nothing more is read
	say := func(format string, args ...any) bool {
		out.SetWriteDeadline(time.Now().Add(headerTime)) // who does not read is dropped
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && out.Flush() == nil
	}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	change, _ := s.next()
	told := s.host(r.Context()).Revision
	ok := say("retry: 3000\nevent: revision\ndata: %d\n\n", told)
	for ok {
		select {
		case <-r.Context().Done():
			return
		case <-change:
			change, _ = s.next()
			if now := s.last().Revision; now != told {
				told = now
				ok = say("event: revision\ndata: %d\n\n", told)
			}
		case <-alive.C:
			ok = say(": alive\n\n")
		}
	}
}
