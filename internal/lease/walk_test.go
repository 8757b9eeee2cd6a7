package lease_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/lease"
)

// everything is all kinds of trouble at once, for random walks: they get deeper than a search.
const everything = "late lost ghost cancel leave tick break revoke pause"

// walk goes a random way of so many acts from a new world.
func walk(seed uint64, out lease.Guard, steps int) error {
	w, err := start{}.world(out)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 1))
	families := strings.Fields(everything)
	random.Shuffle(len(families), func(i, j int) { families[i], families[j] = families[j], families[i] })
	all := acts(families[:2+random.IntN(4)]...)
	var way []string
	for range steps {
		a := all[0] // time passes most often
		if random.IntN(3) > 0 {
			a = all[random.IntN(len(all))]
		}
		ok, err := a.do(w)
		if ok {
			way = append(way, a.name)
		}
		if err != nil {
			return fmt.Errorf("seed %d: %w\nafter: %s", seed, err, strings.Join(way, ", "))
		}
	}
	if err := w.settles(); err != nil {
		return fmt.Errorf("seed %d: %w\nafter: %s", seed, err, strings.Join(way, ", "))
	}
	return nil
}

// soak scales how long random tests take: 1 is the whole.
func soak() float64 {
	f, err := strconv.ParseFloat(os.Getenv("SOLEHOLD_SOAK"), 64)
	if err != nil {
		return 0.05
	}
	return f
}

// TestWalks goes random ways.
func TestWalks(t *testing.T) {
	n := max(500, int(100_000*soak()))
	for seed := range n {
		if err := walk(uint64(seed), 0, 60); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d walks of 60 acts", n)
}
