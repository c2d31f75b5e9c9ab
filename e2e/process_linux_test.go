package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process that was found by its environment.
type process struct {
	pid     int
	command string
}

// ends waits for the process's end.
func (p process) ends(patience time.Duration) bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer unix.Close(fd)
	until := time.Now().Add(patience)
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(time.Until(until).Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return n > 0
	}
}

// processesWith are the processes that were started with a variable, where the
// system tells.
func processesWith(variable string) []process {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []process
	for _, path := range environs {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, append([]byte(variable), 0)) {
			continue
		}
		var p process
		if _, err := fmt.Sscanf(path, "/proc/%d/environ", &p.pid); err != nil {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		p.command = string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		found = append(found, p)
	}
	return found
}
