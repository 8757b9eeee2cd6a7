package locklost_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/locklost"
)

func TestReports(t *testing.T) { vettest.Run(t, locklost.Analyzer(), "locklostmain") }
