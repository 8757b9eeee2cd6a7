package agent

import (
	"context"
	"errors"

	"github.com/solehold/solehold/cluster"
	"github.com/solehold/solehold/cluster/etcd"
	"github.com/solehold/solehold/internal/agent/wire"
	"github.com/solehold/solehold/internal/lease"
)

// failure is how the run is told of an error.
func failure(err error, sticky bool) wire.Message {
	m := wire.Message{Kind: wire.Failed, Fault: wire.Away, Text: err.Error()}
	var held *cluster.HeldError
	switch {
	case errors.Is(err, ErrDenied):
		m.Fault = wire.Denied
	case errors.As(err, &held) && held.Foreign, errors.Is(err, etcd.ErrVersion):
		m.Fault = wire.Unsafe
	case errors.As(err, &held) && otherMode(held, sticky) != "":
		m.Fault, m.Text = wire.Kept, otherMode(held, sticky)
	case errors.As(err, &held):
		m.Kind, m.Fault, m.Info, m.Token = wire.Refused, "", held.Info, held.Token
		if held.Sticky {
			m.Sticky = &wire.Sticky{Since: held.Since}
		}
	case errors.As(err, new(*cluster.LostError)):
		m.Fault, m.Text = wire.Gone, why(err)
	case errors.Is(err, cluster.ErrURL), errors.Is(err, cluster.ErrName), errors.Is(err, lease.ErrConfig):
		m.Fault = wire.Usage
	case errors.Is(err, cluster.ErrToken):
		m.Fault = wire.Behind
	case errors.Is(err, context.Canceled):
		m.Fault = wire.Stopped
	}
	return m
}

// why says what was seen of a loss; the run names the lock itself.
func why(err error) string {
	if lost, ok := errors.AsType[*cluster.LostError](err); ok {
		return lost.Why
	}
	return err.Error()
}
