package model_test

import "slices"

// reached is a world and how it was come to.
type reached struct {
	world
	from int // index of the world before, -1 for the first
	what string
}

// search visits every world that the protocol can lead to, the nearest first, until something is wrong. It returns the
// shortest schedule to that, or nil, and how many worlds there are.
func search(p protocol, from world) (schedule []string, worlds int) {
	seen := map[world]struct{}{from: {}}
	queue := []reached{{from, -1, ""}}
	for at := 0; at < len(queue); at++ {
		for _, m := range p.moves(queue[at].world) {
			wrong := m.wrong
			if wrong == "" {
				wrong = m.to.wrong()
			}
			if wrong != "" {
				return append(append(way(queue, at), m.what), wrong), len(seen)
			}
			if _, old := seen[m.to]; !old {
				seen[m.to] = struct{}{}
				queue = append(queue, reached{m.to, at, m.what})
			}
		}
	}
	return nil, len(seen)
}

func way(queue []reached, at int) (steps []string) {
	for ; queue[at].from >= 0; at = queue[at].from {
		steps = append(steps, queue[at].what)
	}
	slices.Reverse(steps)
	return steps
}
