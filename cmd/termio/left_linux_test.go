package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// leftBehind describes the processes of a home that do not end by themselves: one
// that has let go of everything may still be on its way out.
func leftBehind(home string) []string {
	var left []string
	for _, pid := range processesOf(home) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !endsSoon(pid) {
			left = append(left, fmt.Sprint(pid, " ", strings.ReplaceAll(string(line), "\x00", " ")))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return left
}

// endsSoon waits for the end of a process that is no child.
func endsSoon(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	return err == nil && n == 1
}

// processesOf finds processes whose environment names a termio home.
func processesOf(home string) []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, file := range dirs {
		data, err := os.ReadFile(file)
		if err != nil || !slices.Contains(strings.Split(string(data), "\x00"), "TERMIO_HOME="+home) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}
