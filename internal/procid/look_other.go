//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package procid

import (
	"errors"
	"time"
)

func look(int) (glance, error) { return glance{}, errors.ErrUnsupported }

func session(int) int { return 0 }

func gone(ID) Why { return NoSuchProcess }

func sinceBoot() time.Duration { return 0 }
