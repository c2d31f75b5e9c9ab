package pty

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a test waits for an event before it gives up.
const patience = time.Minute

// TestMain has the signals handled that the tests may have been started ignoring, as
// with nohup or in the background of a script: what is ignored stays so in children,
// and a shell cannot even trap it. The keeper does the same.
func TestMain(m *testing.M) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	os.Exit(m.Run())
}

// terminal is a master that a test reads and writes.
type terminal struct {
	t    *testing.T
	fd   int      // the master itself
	file *os.File // a copy in the netpoller
	got  []byte   // what was read and not asked for yet
}

func openTerminal(t *testing.T, size Size) *terminal {
	t.Helper()
	fd, err := Open(size)
	if err != nil {
		t.Fatal(err)
	}
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, fd: fd, file: os.NewFile(uintptr(dup), "master")}
	t.Cleanup(func() {
		term.file.Close()
		unix.Close(fd)
	})
	return term
}

// child is a started program; a test's end ends it.
type child struct {
	Proc
	status chan syscall.WaitStatus // gets its status once
}

// start starts a shell script on the terminal.
func (term *terminal) start(script string, change ...func(*Command)) *child {
	term.t.Helper()
	c := Command{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: term.t.TempDir()}
	for _, f := range change {
		f(&c)
	}
	p, err := Start(term.fd, c)
	if err != nil {
		term.t.Fatal(err)
	}
	return wait(term.t, p)
}

// wait takes a child's status when it comes.
func wait(t *testing.T, p Proc) *child {
	c := &child{Proc: p, status: make(chan syscall.WaitStatus, 1)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var ws syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(p.PID, &ws, 0, nil); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		c.status <- ws
	}()
	t.Cleanup(func() {
		select {
		case <-done:
		default:
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
			<-done
		}
	})
	return c
}

func (c *child) wait(t *testing.T) syscall.WaitStatus {
	t.Helper()
	select {
	case ws := <-c.status:
		return ws
	case <-time.After(patience):
		t.Fatal("the child has not ended")
		return 0
	}
}

// stopped waits until the child has been stopped.
func (c *child) stopped(t *testing.T) {
	t.Helper()
	stopped := make(chan error, 1)
	go func() {
		var ws syscall.WaitStatus
		_, err := syscall.Wait4(c.PID, &ws, syscall.WUNTRACED, nil)
		for errors.Is(err, syscall.EINTR) {
			_, err = syscall.Wait4(c.PID, &ws, syscall.WUNTRACED, nil)
		}
		if err == nil && !ws.Stopped() {
			err = fmt.Errorf("status %v", ws)
		}
		stopped <- err
	}()
	select {
	case err := <-stopped:
		if err != nil {
			t.Fatalf("the child was not stopped: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the child was not stopped")
	}
}

// line reads the next whole line.
func (term *terminal) line() string {
	term.t.Helper()
	if err := term.file.SetReadDeadline(time.Now().Add(patience)); err != nil {
		term.t.Fatal(err)
	}
	for {
		if line, rest, ok := bytes.Cut(term.got, []byte("\r\n")); ok {
			term.got = rest
			return string(line)
		}
		buf := make([]byte, 4096)
		n, err := term.file.Read(buf)
		if err != nil {
			term.t.Fatalf("no line but %q: %v", term.got, err)
		}
		term.got = append(term.got, buf[:n]...)
	}
}

func (term *terminal) write(s string) {
	term.t.Helper()
	if _, err := term.file.WriteString(s); err != nil {
		term.t.Fatal(err)
	}
}

func TestStart(t *testing.T) {
	term := openTerminal(t, Size{})
	dir := t.TempDir()
	c := term.start(`tty; stty size; pwd; echo "$WHO"; read x`, func(c *Command) {
		c.Env = append(c.Env, "WHO=me")
		c.Dir = dir
		c.Size = Size{Cols: 91, Rows: 17}
	})
	if got := term.line(); !strings.HasPrefix(got, "/dev/") {
		t.Errorf("tty: %q", got)
	}
	for _, want := range []string{"17 91", dir, "me"} {
		if got := term.line(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	group, errGroup := unix.Getpgid(c.PID)
	session, errSession := unix.Getsid(c.PID)
	front, errFront := Foreground(term.fd)
	if err := errors.Join(errGroup, errSession, errFront); err != nil {
		t.Fatal(err)
	}
	if got, want := [3]int{group, session, front}, [3]int{c.PID, c.PID, c.PID}; got != want {
		t.Errorf("group, session and foreground group are %v, want %v", got, want)
	}
	var open []string
	for _, fd := range descriptors(t, c.PID) {
		// A shell that controls a terminal may hold a copy of it at 10, and what the
		// test itself was started with is not ours.
		if fd != "10" && !inherited(fd) {
			open = append(open, fd)
		}
	}
	if want := []string{"0", "1", "2"}; !slices.Equal(open, want) {
		t.Errorf("the child has descriptors %v, want %v", open, want)
	}
	term.write("\n")
	if ws := c.wait(t); ws.ExitStatus() != 0 {
		t.Errorf("status %v", ws)
	}
}

// descriptors are the open descriptors of a process, by number.
func descriptors(t *testing.T, pid int) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		t.Skip("no /proc to look into")
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// inherited tells whether this process was started with the descriptor: what Go
// opens is close-on-exec, what survived an exec is not.
func inherited(fd string) bool {
	n, err := strconv.Atoi(fd)
	if err != nil || n <= 2 {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

// The keeper's and the host's descriptor share one description: what Start does
// to it must leave it non-blocking.
func TestMasterStaysNonBlocking(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	term.start("read x")
	flags, err := unix.FcntlInt(uintptr(term.fd), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	if flags&unix.O_NONBLOCK == 0 {
		t.Error("the master blocks")
	}
	if flags, err = unix.FcntlInt(uintptr(term.fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the master is inherited by children (%v)", err)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "text", 0o644)
	orphan := write("orphan", "#!/no/such/interpreter\n", 0o755)
	gone := filepath.Join(dir, "gone")
	for _, tt := range []struct {
		name    string
		argv    []string
		dir     string
		stage   Stage
		is      error
		message string
	}{
		{"not in the path", []string{"no-such-command"}, dir, StageFind, fs.ErrNotExist, `command "no-such-command" not found`},
		{"no such file", []string{gone}, dir, StageFind, fs.ErrNotExist, `command "` + gone + `" not found`},
		{"empty command", []string{""}, dir, StageFind, fs.ErrNotExist, `command "" not found`},
		{"no command", nil, dir, StageFind, fs.ErrNotExist, `command "" not found`},
		{"not executable", []string{plain}, dir, StageFind, fs.ErrPermission, `command "` + plain + `": permission denied`},
		{"a folder as command", []string{dir}, dir, StageFind, fs.ErrPermission, `command "` + dir + `": permission denied`},
		{"missing folder", []string{"sh"}, gone, StageFolder, fs.ErrNotExist, "folder " + gone + ": no such file or directory"},
		{"a file as folder", []string{"sh"}, plain, StageFolder, syscall.ENOTDIR, "folder " + plain + ": not a directory"},
		{"missing interpreter", []string{orphan}, dir, StageExec, fs.ErrNotExist, "start " + orphan + ": the interpreter that its first line names is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			term := openTerminal(t, Size{Cols: 80, Rows: 24})
			p, err := Start(term.fd, Command{Argv: tt.argv, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: tt.dir})
			var se *StartError
			if !errors.As(err, &se) {
				t.Fatalf("started %v, error %v", p, err)
			}
			if se.Stage != tt.stage || !errors.Is(err, tt.is) || err.Error() != tt.message {
				t.Errorf("stage %q, error %q; want stage %q, error %q that is %v", se.Stage, err, tt.stage, tt.message, tt.is)
			}
		})
	}
}

func TestOpenOutOfDescriptors(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Size{})
	if se, ok := errors.AsType[*StartError](err); !ok || se.Stage != StageTerminal || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("got %v", err)
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // where relative entries would lead to
	for _, folder := range []string{"a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]fs.FileMode{"a/tool": 0o644, "b/tool": 0o755, "c/tool": 0o755, "a/data": 0o644, "here": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	in := func(folders ...string) string {
		for i, f := range folders {
			folders[i] = filepath.Join(dir, f)
		}
		return strings.Join(folders, ":")
	}
	for _, tt := range []struct {
		name, command, path, want string
		err                       error
	}{
		{"first executable", "tool", in("a", "b", "c"), "b/tool", nil},
		{"order", "tool", in("c", "b"), "c/tool", nil},
		{"only a data file", "data", in("a", "b"), "", fs.ErrPermission},
		{"absent", "other", in("a", "b"), "", fs.ErrNotExist},
		{"empty entries are not the folder itself", "here", "::", "", fs.ErrNotExist},
		{"relative entries are passed over", "tool", "b:" + in("c"), "c/tool", nil},
		{"relative path with a slash", "./here", "", "here", nil},
		{"absolute", filepath.Join(dir, "b/tool"), "", "b/tool", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := LookPath(tt.command, dir, tt.path)
			want := tt.want
			if want != "" {
				want = filepath.Join(dir, want)
			}
			if got != want || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, want, tt.err)
			}
		})
	}
}

// An agent that dies in raw mode leaves its terminal to the shell that takes its
// place: that one must find the usual modes and no keys meant for the agent.
func TestStartOnUsedTerminal(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	first := term.start(`stty raw -echo; printf 'raw\r\n'; exec cat >/dev/null`)
	if got := term.line(); got != "raw" {
		t.Fatalf("got %q", got)
	}
	if got, err := GetModes(term.fd); err != nil || got != (Modes{}) {
		t.Fatalf("modes %+v (%v), want raw", got, err)
	}
	// Stopped, it can't take the keys itself.
	if err := syscall.Kill(first.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	term.write("rm -rf something\r")
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if ws := first.wait(t); ws.Signal() != syscall.SIGKILL {
		t.Fatalf("status %v", ws)
	}
	second := term.start(`echo new; read x; echo "got $x"`, func(c *Command) { c.Size = Size{Cols: 20, Rows: 10} })
	if got := term.line(); got != "new" {
		t.Errorf("got %q", got)
	}
	if got, err := GetModes(term.fd); err != nil || got != (Modes{Canonical: true, Echo: true, Signals: true}) {
		t.Errorf("modes %+v (%v), want the usual ones", got, err)
	}
	if got, err := GetSize(term.fd); err != nil || got != (Size{Cols: 20, Rows: 10}) {
		t.Errorf("size %v (%v)", got, err)
	}
	term.write("mine\n")
	for _, want := range []string{"mine", "got mine"} {
		if got := term.line(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	second.wait(t)
}

func TestSetSizeTellsTheProgram(t *testing.T) {
	term := openTerminal(t, Size{Cols: 80, Rows: 24})
	term.start(`trap 'stty size; exit' WINCH; echo ready; while :; do read x; done`)
	if got := term.line(); got != "ready" {
		t.Fatalf("got %q", got)
	}
	if err := SetSize(term.fd, Size{Cols: 120, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	if got := term.line(); got != "40 120" {
		t.Errorf("got %q", got)
	}
}
