package keeper

import (
	"os"

	"golang.org/x/sys/unix"
)

// ringFile makes a file that has no name any more; macOS has no memfd.
func ringFile() (int, error) {
	f, err := os.CreateTemp("", "termio-ring-")
	if err != nil {
		return -1, err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return -1, err
	}
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
}

// adoptOrphans does nothing: macOS has no subreaper, orphans go to launchd.
func adoptOrphans() error { return nil }

// descriptorFolder lists this process's descriptors.
const descriptorFolder = "/dev/fd"
