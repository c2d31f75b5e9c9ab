package keeper

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ringFile makes an anonymous file in memory.
func ringFile() (int, error) { return unix.MemfdCreate("termio-ring", unix.MFD_CLOEXEC) }

// adoptOrphans makes this process the parent of descendants whose own parent
// ends, so that they are waited for here and found under it.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	return nil
}

// descriptorFolder lists this process's descriptors.
const descriptorFolder = "/proc/self/fd"
