package locktrunc_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/locktrunc"
)

func TestReports(t *testing.T) { vettest.Run(t, locktrunc.Analyzer()) }
