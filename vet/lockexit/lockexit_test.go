package lockexit_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/lockexit"
)

func TestReports(t *testing.T) { vettest.Run(t, lockexit.Analyzer()) }
