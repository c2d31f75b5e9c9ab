package kid

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"termio/bench/internal/machine"
)

// A worker carries orders out.
type worker struct {
	poster *poster // started by the first Post
}

// obey carries out one order.
func (w *worker) obey(o Order) (Answer, error) {
	switch o.Do {
	case Drain:
		return drain(o)
	case Echo:
		if err := quiet(true); err != nil {
			return Answer{}, err
		}
		go echo()
	case Chatter:
		go chatter()
	case Flood:
		data, err := os.ReadFile(o.File)
		if err != nil {
			return Answer{}, err
		}
		go func() {
			for {
				if _, err := os.Stdout.Write(data); err != nil {
					return
				}
			}
		}()
	case Exec:
		return measure(o)
	case Put:
		began := machine.Now()
		_, err := io.WriteString(os.Stdout, o.Text)
		return Answer{Began: began, Ended: machine.Now()}, err
	case Post:
		return w.post(o.Text)
	case Await:
		return Answer{}, awaitSize(o.Cols, o.Rows)
	default:
		return Answer{}, fmt.Errorf("unknown order %q", o.Do)
	}
	return Answer{}, nil
}

// block is how much is written at once, as cat does.
const block = 64 << 10

// drain writes a file and tells when the terminal has taken it: all of it in, or where
// the terminal can be asked, all of it on the screen.
func drain(o Order) (Answer, error) {
	data, err := os.ReadFile(o.File)
	if err != nil {
		return Answer{}, err
	}
	if err := quiet(false); err != nil {
		return Answer{}, err
	}
	a := Answer{Began: machine.Now()}
	for rest := data; len(rest) > 0; {
		n, err := os.Stdout.Write(rest[:min(block, len(rest))])
		if err != nil {
			return a, err
		}
		rest = rest[n:]
	}
	if o.Query {
		if err := settled(); err != nil {
			return a, err
		}
	}
	a.Ended = machine.Now()
	return a, nil
}

// settled asks the terminal where its cursor is. It answers in turn, so what was
// written before is on its screen then.
func settled() error {
	if _, err := io.WriteString(os.Stdout, "\x1b[6n"); err != nil {
		return err
	}
	var b [1]byte
	for b[0] != 'R' {
		if _, err := os.Stdin.Read(b[:]); err != nil {
			return fmt.Errorf("the terminal's answer: %w", err)
		}
	}
	return nil
}

// quiet takes echo and line editing off the terminal; raw also takes the processing of
// output off.
func quiet(raw bool) error {
	t, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil {
		return fmt.Errorf("the terminal's modes: %w", err)
	}
	t.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Iflag &^= unix.ICRNL | unix.IXON
	if raw {
		t.Oflag &^= unix.OPOST
	}
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(0, setTermios, t)
}

// lineOfKeys is after how many keys an echo goes back to the line's beginning: no
// multiple of the number of keys, so that no cell gets what it holds already.
const lineOfKeys = 98

// echo writes back what is read, by system calls alone: what is measured is the way,
// not this program.
func echo() {
	var b [64]byte
	column := 0
	for {
		n, err := unix.Read(0, b[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		out := b[:n:n]
		if column += n; column > lineOfKeys {
			out, column = append([]byte{'\r'}, out...), n
		}
		if _, err := unix.Write(1, out); err != nil {
			return
		}
	}
}

// chatter is a busy agent: a hundred bytes, a hundred times a second.
func chatter() {
	line := []byte(strings.Repeat("chatter ", 12) + "on\n")
	for tick := range time.Tick(10 * time.Millisecond) {
		line[0] = 'a' + byte(tick.UnixMilli()%26)
		if _, err := os.Stdout.Write(line); err != nil {
			return
		}
	}
}

// measure runs a command several times and measures each from before its start until
// its end has been seen.
func measure(o Order) (Answer, error) {
	a := Answer{Began: machine.Now()}
	for range o.Times {
		cmd := exec.Command(o.Argv[0], o.Argv[1:]...)
		in, err := input(o.Stdin)
		if err != nil {
			return a, err
		}
		cmd.Stdin = in
		began := machine.Now()
		err = cmd.Run()
		a.Ended = machine.Now()
		_ = in.Close()
		if err != nil {
			return a, fmt.Errorf("%s: %w", strings.Join(o.Argv, " "), err)
		}
		a.Took = append(a.Took, a.Ended-began)
	}
	return a, nil
}

// input is a pipe that holds text already, and its end.
func input(text string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if _, err := io.WriteString(w, text); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// awaitSize waits until the terminal has a size.
func awaitSize(cols, rows int) error {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	deadline := time.After(Patience / 2)
	for {
		ws, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		if err != nil {
			return fmt.Errorf("the terminal's size: %w", err)
		}
		if int(ws.Col) == cols && int(ws.Row) == rows {
			return nil
		}
		select {
		case <-changed:
		case <-deadline:
			return fmt.Errorf("the terminal has %dx%d, not %dx%d", ws.Col, ws.Row, cols, rows)
		}
	}
}
