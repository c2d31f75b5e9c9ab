//go:build !linux

package machine

import (
	"errors"
	"time"
)

func cpuTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// began is where the clock begins.
var began = time.Now()

// Now is a monotonic clock; of this process only, where the system has no other.
func Now() time.Duration { return time.Since(began) }
