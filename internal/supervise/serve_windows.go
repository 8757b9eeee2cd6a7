package supervise

import (
	"errors"
	"syscall"
	"time"

	"github.com/solehold/solehold"
	"golang.org/x/sys/windows/svc"
)

// serve runs as a service where the service manager has started this process, and
// else as any program.
func (r *runner) serve(work func() (End, error)) (End, error) {
	if is, err := svc.IsWindowsService(); err != nil || !is {
		return work()
	}
	s := &service{r: r, work: work}
	if err := svc.Run("", s); err != nil {
		return End{}, err
	}
	return s.end, s.err
}

// service is a run as the service manager sees it.
type service struct {
	r    *runner
	work func() (End, error)
	end  End
	err  error
}

// Execute runs it to its end. A stop of the service, or of the system, is what
// SIGTERM is elsewhere; the manager is told for as long as it takes.
func (s *service) Execute(_ []string, asked <-chan svc.ChangeRequest, status chan<- svc.Status) (specific bool, code uint32) {
	const step = 2 * time.Second
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.end, s.err = s.work()
	}()
	now := svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	status <- now
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return s.result()
		case q := <-asked:
			switch q.Cmd {
			case svc.Interrogate:
			case svc.Stop, svc.Shutdown:
				now = svc.Status{State: svc.StopPending, WaitHint: uint32((s.r.c.Grace + killWait).Milliseconds())}
				s.r.signals <- syscall.SIGTERM
			}
			status <- now
		case <-tick.C:
			if now.State == svc.StopPending {
				now.CheckPoint++
				status <- now
			}
		}
	}
}

// result is what the manager is told: its own recovery starts a service that
// ended with an error.
func (s *service) result() (specific bool, code uint32) {
	switch {
	case errors.Is(s.err, solehold.ErrHeld):
		return false, 0 // the wanted state holds
	case s.err != nil:
		return true, uint32(solehold.ExitCode(s.err))
	case s.r.stopWith != 0, s.end.Code == 0:
		return false, 0
	}
	return true, uint32(s.end.Code)
}
