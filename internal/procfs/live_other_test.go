//go:build !linux

package procfs_test

import (
	"testing"

	"github.com/solehold/solehold/internal/testneed"
)

func TestLive(t *testing.T) { testneed.Linux(t) }
