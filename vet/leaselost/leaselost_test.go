package leaselost_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/leaselost"
)

func TestReports(t *testing.T) { vettest.Run(t, leaselost.Analyzer(), "leaselostdone") }
