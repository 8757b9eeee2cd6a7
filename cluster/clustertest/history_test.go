package clustertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/solehold/solehold/cluster/clustertest"
)

// tenure makes one with times in seconds.
func tenure(client int, token uint64, times ...time.Duration) clustertest.Tenure {
	return clustertest.Tenure{
		Client: client, Name: "a", Token: token, Called: times[0] * time.Second, Owned: times[1] * time.Second,
		Acted: times[2] * time.Second, Released: times[3] * time.Second,
	}
}

// TestHistory finds what each check is for.
func TestHistory(t *testing.T) {
	for name, c := range map[string]struct {
		tenures  []clustertest.Tenure
		refusals []clustertest.Refusal
		want     string
	}{
		"one after another": {tenures: []clustertest.Tenure{tenure(1, 1, 0, 1, 2, 3), tenure(2, 2, 0, 3, 4, 5)}},
		"run out":           {tenures: []clustertest.Tenure{tenure(1, 1, 0, 1, 2, 0), tenure(2, 2, 0, 3, 4, 5)}},
		"two owners":        {tenures: []clustertest.Tenure{tenure(1, 1, 0, 1, 5, 6), tenure(2, 2, 0, 3, 4, 5)}, want: "two owners"},
		"token":             {tenures: []clustertest.Tenure{tenure(1, 2, 0, 1, 2, 3), tenure(2, 2, 3, 4, 5, 6)}, want: "does not rise"},
		"order": {
			tenures: []clustertest.Tenure{tenure(1, 1, 0, 1, 2, 3)}, want: "no lock gives",
			refusals: []clustertest.Refusal{{Client: 2, Name: "a", Called: 4 * time.Second, Returned: 5 * time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h clustertest.History
			for _, x := range c.tenures {
				h.Add(x)
			}
			for _, x := range c.refusals {
				h.Refused(x)
			}
			err := h.Check()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
