package removeall_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/removeall"
)

func TestReports(t *testing.T) { vettest.Run(t, removeall.Analyzer()) }
