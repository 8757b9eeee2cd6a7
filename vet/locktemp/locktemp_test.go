package locktemp_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/locktemp"
)

func TestReports(t *testing.T) { vettest.Run(t, locktemp.Analyzer()) }
