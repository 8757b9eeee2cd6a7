//go:build !linux

package procfs_test

import "testing"

func TestLive(t *testing.T) { t.Skip("no /proc outside of Linux") }
