package lockexec_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/lockexec"
)

func TestReports(t *testing.T) { vettest.Run(t, lockexec.Analyzer()) }
