package agent_test

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/solehold/solehold/cluster"
	rules "github.com/solehold/solehold/internal/lease"
)

// sums reads the rows of the sum in docs/scale.md: the first number of each cell after the formula.
func sums(t *testing.T) map[string][]float64 {
	t.Helper()
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	number, all := regexp.MustCompile(`^[\d,.]+`), map[string][]float64{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		if len(cells) != 5 {
			continue
		}
		var row []float64
		for _, cell := range cells[2:] {
			n, err := strconv.ParseFloat(strings.ReplaceAll(number.FindString(strings.TrimSpace(cell)), ",", ""), 64)
			if err != nil {
				n = math.NaN()
			}
			row = append(row, n)
		}
		name := strings.TrimSpace(cells[0])
		if _, twice := all[name]; twice {
			name += ", " + cells[1]
		}
		all[name] = row
	}
	return all
}

// The sum follows from the times of the lease and the measured bytes. Runs that share an agent cost what one client does.
func TestScaleSum(t *testing.T) {
	t.Parallel()
	page, times := sums(t), rules.TimesOf(cluster.DefaultTTL)
	leases := page["leases"]
	if !slices.Equal(leases, []float64{10_000, 10_000, 1_000_000}) {
		t.Fatalf("leases %v", leases)
	}
	for name, per := range map[string]float64{
		"renewals a second":         1 / times.Renew.Seconds(),
		"their bytes a second":      170 / times.Renew.Seconds() / 1e6,
		"verifications a second":    1 / (times.Renew.Seconds() * rules.VerifyEvery),
		"connections":               1,
		"transactions to claim all": 1,
	} {
		row := page[name]
		if len(row) != 3 {
			t.Errorf("%s: %v", name, row)
			continue
		}
		for i := range row {
			if want := leases[i] * per; math.Abs(row[i]-want) > 0.06*want {
				t.Errorf("%s, column %d: %v, the sum gives %v", name, i, row[i], want)
			}
		}
	}
	if row := page["comparisons a second"]; len(row) != 3 || math.Abs(row[0]-1e6/(times.Renew.Seconds()*rules.VerifyEvery)) > 1 || row[0] != row[1] || row[0] != row[2] {
		t.Errorf("comparisons %v", row)
	}
}
