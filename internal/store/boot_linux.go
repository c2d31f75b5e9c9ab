package store

import (
	"os"
	"strings"
)

// bootID names the machine's present run; "" where it cannot be told.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
