package lockremove_test

import (
	"testing"

	"github.com/solehold/solehold/vet/internal/vettest"
	"github.com/solehold/solehold/vet/lockremove"
)

func TestReports(t *testing.T) { vettest.Run(t, lockremove.Analyzer(), "lockremovechecked") }
