package keeper

import (
	"testing"

	"golang.org/x/sys/unix"

	"termio/internal/pty"
)

// awaitEnd waits for the end of a process that is nobody's child here.
func awaitEnd(t *testing.T, p pty.Proc) {
	t.Helper()
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil || !p.Alive() {
		return
	}
	defer unix.Close(fd)
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds())); err != nil || n != 1 {
		t.Fatalf("process %d has not ended (%v)", p.PID, err)
	}
}
