package recordwrite_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/recordwrite"
)

func TestReports(t *testing.T) { vettest.Run(t, recordwrite.Analyzer()) }
