package posixlock_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/posixlock"
)

func TestReports(t *testing.T) { vettest.Run(t, posixlock.Analyzer()) }
