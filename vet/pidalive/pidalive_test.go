package pidalive_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/pidalive"
)

func TestReports(t *testing.T) { vettest.Run(t, pidalive.Analyzer(), "pidalivecloser") }
