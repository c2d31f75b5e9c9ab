package pty

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Inspect reads one process from the process table. ErrGone when there is none.
func Inspect(pid int) (Info, error) {
	var buf [512]byte // a line of stat is at most about 400 bytes
	return inspect(pid, buf[:])
}

// inspect is Inspect with a buffer to use again. It makes its calls itself: over
// a whole process table, an *os.File each would be most of the cost.
func inspect(pid int, buf []byte) (Info, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return Info{}, ErrGone
	}
	if err != nil {
		return Info{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if errors.Is(err, unix.ESRCH) {
		return Info{}, ErrGone
	}
	if err != nil {
		return Info{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	info, ok := parseStat(buf[:n])
	if !ok {
		return Info{}, fmt.Errorf("read process %d: unexpected stat line %q", pid, buf[:n])
	}
	return info, nil
}

// parseStat reads a line of /proc/PID/stat, see proc_pid_stat(5). The name stands
// in parentheses and may hold anything, parentheses and spaces too.
func parseStat(line []byte) (Info, bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return Info{}, false
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	fields := bytes.Fields(line[end+1:]) // from field 3, the state
	const parent, group, session, threads, start = 4 - 3, 5 - 3, 6 - 3, 20 - 3, 22 - 3
	if err != nil || len(fields) <= start {
		return Info{}, false
	}
	number := func(i int) int {
		n, e := strconv.Atoi(string(fields[i]))
		err = errors.Join(err, e)
		return n
	}
	info := Info{
		Parent:  number(parent),
		Group:   number(group),
		Session: number(session),
		Name:    string(line[open+1 : end]),
		// A main thread that left others running is a zombie as well.
		Ended: bytes.ContainsAny(fields[0], "ZXx") && number(threads) <= 1,
	}
	ticks, e := strconv.ParseUint(string(fields[start]), 10, 64)
	info.Proc = Proc{PID: pid, Start: ticks}
	return info, errors.Join(err, e) == nil
}

// processes reads the whole process table. What ends meanwhile is left out.
func processes() ([]Info, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("read the process table: %w", err)
	}
	defer dir.Close()
	var (
		all []Info
		buf [512]byte
	)
	for {
		names, err := dir.Readdirnames(512)
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			if info, err := inspect(pid, buf[:]); err == nil {
				all = append(all, info)
			}
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the process table: %w", err)
		}
	}
}

// Args returns the arguments that a process was started with, the program's name
// first. A program may overwrite them. ErrGone when there is none.
func Args(pid int) ([]string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, procError(pid, err)
	}
	if len(data) == 0 {
		return nil, nil // ended, or a thread of the kernel
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"), nil
}

// Environ returns the environment that a process was started with. ErrGone when there
// is none; a process of another user keeps it to itself.
func Environ(pid int) ([]string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil, procError(pid, err)
	}
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == 0 }), nil
}

// Cwd returns a process's working folder. ErrGone when there is no process;
// fs.ErrNotExist when the folder has been removed.
func Cwd(pid int) (string, error) {
	link := "/proc/" + strconv.Itoa(pid) + "/cwd"
	dir, err := os.Readlink(link)
	if err != nil {
		return "", procError(pid, err)
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("working folder of process %d: %w", pid, err)
	}
	return dir, nil
}

// OpenFiles returns the paths of the files that a process has open, as they are named
// now; pipes, sockets and files that were removed are left out. ErrGone when there is
// no process.
func OpenFiles(pid int) ([]string, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, procError(pid, err)
	}
	var files []string
	for _, e := range entries {
		path, err := os.Readlink(dir + "/" + e.Name())
		if err != nil || !strings.HasPrefix(path, "/") || strings.HasSuffix(path, " (deleted)") {
			continue // closed meanwhile, or no file
		}
		files = append(files, path)
	}
	return files, nil
}

// Holders are the processes that have a file open, as far as this user may know. The
// path is one after symlinks. It reads the whole process table.
func Holders(path string) (pids []int, err error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if files, err := OpenFiles(p.PID); err == nil && slices.Contains(files, path) {
			pids = append(pids, p.PID)
		}
	}
	return pids, nil
}

// procError names what reading a file of /proc ran into.
func procError(pid int, err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return fmt.Errorf("read process %d: %w", pid, err)
}
