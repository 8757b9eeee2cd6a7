package drill

import (
	"context"
	"time"

	"github.com/solehold/solehold/health"
)

// probePeriod is the time between two questions.
const probePeriod = 50 * time.Millisecond

// probe asks the service whether it is well. A nil one asks nothing.
type probe struct {
	ctx    context.Context
	ask    health.Probe
	stop   context.CancelFunc
	good   chan time.Duration // the time to the first good answer
	answer chan string        // the newest other one
}

func newProbe(ctx context.Context, url string) (*probe, error) {
	if url == "" {
		return nil, nil
	}
	ask, err := health.HTTP(url, health.HTTPOptions{})
	return &probe{ctx: ctx, ask: ask, stop: func() {}}, err
}

// restart begins to ask anew.
func (p *probe) restart() {
	if p == nil {
		return
	}
	p.stop()
	ctx, stop := context.WithCancel(p.ctx)
	good, answer := make(chan time.Duration, 1), make(chan string, 1)
	p.stop, p.good, p.answer = stop, good, answer
	go askOn(ctx, p.ask, good, answer)
}

// askOn asks until the answer is good.
func askOn(ctx context.Context, ask health.Probe, good chan<- time.Duration, answer chan string) {
	settings := health.DefaultSettings()
	began := time.Now()
	tick := time.NewTicker(probePeriod)
	defer tick.Stop()
	for ctx.Err() == nil {
		r := settings.Check(ctx, ask)
		if r.Verdict == health.OK {
			good <- time.Since(began)
			return
		}
		select {
		case <-answer: // it is old
		default:
		}
		answer <- r.String()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// close ends the questions.
func (p *probe) close() {
	if p != nil {
		p.stop()
	}
}

// healthy waits for a good answer since the last release.
func (p *play) healthy() error {
	if p.probe == nil {
		return nil
	}
	err := p.until(p.Limit, func(*post) bool { return len(p.probe.good) > 0 })
	if err == errTooLong {
		select {
		case text := <-p.probe.answer:
			p.fail("never healthy within %v: %s", p.Limit, text)
		default:
			p.fail("never healthy within %v: no answer", p.Limit)
		}
		return nil
	}
	if err == nil {
		took := <-p.probe.good
		p.healths = append(p.healths, took.Seconds())
		p.note(nil, "healthy", "after "+took.Round(time.Millisecond).String())
	}
	return err
}
