package mmapclose_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/mmapclose"
)

func TestReports(t *testing.T) { vettest.Run(t, mmapclose.Analyzer()) }
