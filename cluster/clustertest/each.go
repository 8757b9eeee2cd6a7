package clustertest

import (
	"errors"
	"fmt"

	"github.com/solehold/solehold/cluster"
)

func eachByItself(s *suite) {
	mine, other, o := s.client(s.backend()), s.client(s.backend()), s.operator()
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprint(s.name(), "/", i))
	}
	const of = 5 // is held by another
	taken, err := other.Acquire(s.ctx, names[of], cluster.AcquireOptions{})
	s.must(err)
	wrong := []string{names[0], ""} // is there already, is no name
	last := map[string]uint64{names[of]: taken.Token()}
	for round := range 2 {
		leases, errs := mine.AcquireEach(s.ctx, append(names[:len(names):len(names)], wrong...), cluster.AcquireOptions{})
		for i, name := range names {
			var held *cluster.HeldError
			if i == of && round == 0 {
				if leases[i] != nil || !errors.As(errs[i], &held) || held.Token != taken.Token() || held.Name != name {
					s.Errorf("of a lock that is held: %v, %v", leases[i], errs[i])
				}
				continue
			}
			s.must(errs[i])
			s.isThere(o, name, leases[i])
			if token := leases[i].Token(); token <= last[name] {
				s.Errorf("%s: token %d after %d", name, token, last[name])
			}
			last[name] = leases[i].Token()
			s.must(leases[i].Release(s.ctx))
		}
		for i := len(names); i < len(leases); i++ {
			if leases[i] != nil || errs[i] == nil {
				s.Errorf("%q was taken", append(names, wrong...)[i])
			}
		}
		if round == 0 {
			s.must(taken.Release(s.ctx))
		}
	}
}

// isThere compares a lease with what the engine has.
func (s *suite) isThere(o cluster.Operator, name string, l cluster.Lease) {
	s.Helper()
	all, err := o.Look(s.ctx, name)
	s.must(err)
	if l.Name() != name || l.Check() != nil || len(all) != 1 || !all[0].Held || all[0].Token != l.Token() || all[0].Info != s.name() {
		s.Errorf("%s: lease of %s with token %d, %v; the engine has %+v", name, l.Name(), l.Token(), l.Check(), all)
	}
}
