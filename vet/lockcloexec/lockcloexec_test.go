package lockcloexec_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/lockcloexec"
)

func TestReports(t *testing.T) { vettest.Run(t, lockcloexec.Analyzer()) }
