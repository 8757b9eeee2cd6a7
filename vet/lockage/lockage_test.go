package lockage_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/lockage"
)

func TestReports(t *testing.T) { vettest.Run(t, lockage.Analyzer()) }
