package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"termio/internal/pty"
	"termio/internal/vt"
)

// A byteProbe is a program on a session's terminal that passes on every byte that it
// reads.
type byteProbe struct {
	t    *testing.T
	link string
	got  *os.File // the end of a named pipe
}

// probe starts one, which first has its terminal in the given modes.
func (p *place) probe(t *testing.T, modes string) *byteProbe {
	t.Helper()
	b := p.probeAfter(t, "printf '"+modes+"'")
	b.reads("here")
	return b
}

// probeAfter starts one that does something first.
func (p *place) probeAfter(t *testing.T, first string) *byteProbe {
	t.Helper()
	fifo := filepath.Join(p.dir, fmt.Sprint("keys", time.Now().UnixNano()))
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// Read and write: opening waits for nobody, and its end is only ours.
	got, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = got.Close() })
	link := p.termio("sessions", "run", "--cwd", ".", fmt.Sprintf(`stty raw -echo; echo re''ady; %s; exec >%s; printf here; exec cat`, first, fifo))
	return &byteProbe{t: t, link: link, got: got}
}

// reads waits until the program has read exactly these bytes.
func (b *byteProbe) reads(want string) {
	b.t.Helper()
	if err := b.got.SetReadDeadline(time.Now().Add(patience)); err != nil {
		b.t.Fatal(err)
	}
	got := make([]byte, len(want))
	n, err := io.ReadFull(b.got, got)
	if err != nil || string(got) != want {
		at := 0
		for at < n && got[at] == want[at] {
			at++
		}
		b.t.Fatalf("%v; from byte %d on %.80q came, want %.80q", err, at, got[at:n], want[at:])
	}
}

// Every key, mouse, paste and focus event arrives as it was typed, whatever modes the
// program has asked for.
func TestAttachPassesEveryByte(t *testing.T) {
	p := newPlace(t)
	const everything = `\033[?2004h\033[?1003h\033[?1006h\033[?1016h\033[?1004h\033[>31u\033[>4;2m\033[?1h`
	probe := p.probe(t, everything)
	o := p.attach(pty.Size{Cols: 100, Rows: 30, XPixel: 900, YPixel: 600}, probe.link)
	o.Shows("ready")
	for name, keys := range map[string]string{
		"letters and controls":         "aZ0 \t\r\n\x00\x01\x03\x04\x11\x13\x1a\x7f",
		"utf-8 and what is none":       "é日本語👩‍💻\xff\xc3",
		"escape, alt, arrows":          "\x1b\x1b\x1ba\x1b[A\x1bOA\x1b[1;5D\x1b[15~\x1bOP\x1b[Z",
		"shift-enter, alt-enter":       "\x1b[13;2u\x1b\r\x1b[27;2;13~\x1b\n",
		"ctrl-j":                       "\n\x1b[106;5u",
		"kitty with releases":          "\x1b[97;1:1u\x1b[97;1:3u\x1b[97:65;2:2;65u\x1b[57441;2:1u\x1b[1;1:3A",
		"the detach key's release":     "\x1b[92;5:3u",
		"near to the detach key":       "\x1b[92u\x1b[92;6u\x1b[27;6;92~\x1b\x1c",
		"mouse SGR and in pixels":      "\x1b[<0;10;20M\x1b[<0;10;20m\x1b[<35;899;599M\x1b[<64;1;1M",
		"mouse of old":                 "\x1b[M !!\x1b[M#\xff\xfe",
		"focus":                        "\x1b[I\x1b[O",
		"answers of no question of us": "\x1b[?997;1n\x1b]11;rgb:0/0/0\x1b\\\x1bP>|x\x1b\\",
		"paste with the key in it":     "\x1b[200~one\r\x1c\x1b[92;5u two\x1b[201~",
		"cut where it hurts":           "\x1b[",
	} {
		t.Run(name, func(t *testing.T) {
			probe.t = t
			o.Types(keys)
			probe.reads(keys)
		})
	}
	t.Run("a paste of 1 MiB", func(t *testing.T) {
		probe.t = t
		paste := "\x1b[200~" + strings.Repeat("0123456789abcde\r", 1<<16) + "\x1b[201~"
		o.Types(paste)
		probe.reads(paste)
	})
	o.Types("\x1c")
	o.ends()
	o.isRestored()
}

// A gate stands between an attach and the daemon: it lets no byte through, in either
// direction, until it is opened, and can be cut.
type gate struct {
	t       *testing.T
	home    string // where an attach finds it
	arrived chan net.Conn
	ln      net.Listener
}

func (p *place) gate(t *testing.T) *gate {
	t.Helper()
	g := &gate{t: t, home: filepath.Join(filepath.Dir(p.home), "g"), arrived: make(chan net.Conn, 16)}
	if err := os.MkdirAll(filepath.Join(g.home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	g.listen()
	t.Cleanup(func() { _ = g.ln.Close() })
	return g
}

func (g *gate) listen() {
	g.t.Helper()
	ln, err := net.Listen("unix", filepath.Join(g.home, "run", "termio.sock"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.ln = ln
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			g.arrived <- c
		}
	}()
}

// next is the next connection that arrives.
func (g *gate) next() net.Conn {
	g.t.Helper()
	select {
	case c := <-g.arrived:
		return c
	case <-time.After(patience):
		g.t.Fatal("nobody came to the gate")
		return nil
	}
}

// open lets a connection through to the daemon, and gives what cuts it.
func (g *gate) open(c net.Conn, home string) (cut func()) {
	g.t.Helper()
	d, err := net.Dial("unix", filepath.Join(home, "run", "termio.sock"))
	if err != nil {
		g.t.Fatal(err)
	}
	go func() { _, _ = io.Copy(d, c); _ = d.Close() }()
	go func() { _, _ = io.Copy(c, d); _ = c.Close() }()
	return func() { _, _ = c.Close(), d.Close() }
}

// What is typed before the attach stands is the session's, as it was typed.
func TestAttachEatsNoKey(t *testing.T) {
	p := newPlace(t)
	probe := p.probe(t, "")
	g := p.gate(t)
	before := p.env
	p.env = append(p.env[:len(p.env):len(p.env)], "TERMIO_HOME="+g.home)
	o := p.attach(pty.Size{Cols: 100, Rows: 30}, probe.link)
	p.env = before
	c := g.next() // so the attach is at it, and not there yet
	const keys = "\rfirst\x1b[13;2u\n\x04\x13\x1a"
	o.Types(keys)
	g.open(c, p.home)
	probe.reads(keys)
	o.Shows("ready")
	if bytes.Contains(o.Raw, []byte("first")) {
		t.Errorf("the terminal echoed the keys: %q", o.Raw)
	}
	o.Types("\x1c")
	if code := o.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	o.isRestored()
}

// While the link is down the person is told so, keys wait and are typed once, and the
// picture comes back.
func TestAttachLinkDown(t *testing.T) {
	p := newPlace(t)
	probe := p.probe(t, "")
	g := p.gate(t)
	p.env = append(p.env, "NO_COLOR=1")
	before := p.env
	p.env = append(p.env[:len(p.env):len(p.env)], "TERMIO_HOME="+g.home)
	o := p.attach(pty.Size{Cols: 80, Rows: 24}, probe.link)
	p.env = before
	cut := g.open(g.next(), p.home)
	o.Shows("ready")
	o.Types("before")
	probe.reads("before")
	cut()
	waiting := g.next() // the attach tries again, and gets no answer yet
	o.Shows("[link down since ")
	if strings.Contains(string(o.Raw), "\x1b[7m") {
		t.Error("an attribute in spite of NO_COLOR")
	}
	o.Types("while it was down\r")
	cut = g.open(waiting, p.home)
	probe.reads("while it was down\r")
	o.Until("the picture without the notice", func() bool { return !strings.Contains(o.Text(), "link down") && strings.Contains(o.Text(), "ready") })
	o.Equals(func() *vt.Screen { return p.screen(probe.link) })
	// Down again: the key that leaves does.
	cut()
	g.next()
	o.Types("lost")
	o.Types("\x1c")
	if code := o.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	o.isRestored()
}

// A program that reads nothing keeps nobody from leaving, nor from having the size.
func TestAttachToWhatDoesNotRead(t *testing.T) {
	p := newPlace(t)
	link := p.termio("sessions", "run", "--cwd", ".", `stty raw -echo; echo re''ady; exec sleep 1000`)
	a := p.attach(pty.Size{Cols: 100, Rows: 30}, link)
	a.Shows("ready")
	a.Types(strings.Repeat("unread ", 100_000))
	a.Resize(90, 20)
	b := p.attach(pty.Size{Cols: 90, Rows: 20}, link)
	b.Shows("ready")
	a.Types("\x1c")
	if code := a.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	a.isRestored()
	b.Resize(70, 25)
	b.Equals(func() *vt.Screen {
		s := p.screen(link)
		if cols, rows := s.Size(); cols != 70 || rows != 25 {
			return vt.New(vt.Options{Cols: 1, Rows: 1}) // not yet
		}
		return s
	})
	b.Types("\x1c")
	b.ends()
	b.isRestored()
}

// With two terminals that answer all they are asked, a program still has one answer to
// each question, the host's.
func TestAttachAnswersOnce(t *testing.T) {
	p := newPlace(t)
	const queries = "\x1b[H\x1b[c\x1b[>c\x1b[5n\x1b[6n\x1b[?6n\x1b[?2004$p\x1b[?u\x1b]11;?\x1b\\\x1b[18t\x1b[?996n\x1bP$qm\x1b\\\x1b[?9n"
	octal := ""
	for _, c := range []byte(queries) {
		octal += fmt.Sprintf(`\%03o`, c)
	}
	probe := p.probeAfter(t, "head -c1 >/dev/null; printf '"+octal+"all as''ked'")
	var terminals []*outer
	for range 2 {
		o := p.attach(pty.Size{Cols: 100, Rows: 30}, probe.link)
		o.Shows("ready")
		terminals = append(terminals, o)
	}
	asked := vt.New(vt.Options{Cols: 100, Rows: 30})
	_, _ = asked.Write([]byte(queries))
	want := string(asked.TakeReplies())
	terminals[0].Types("x")
	probe.reads("here" + want)
	for i, o := range terminals {
		o.Shows("all asked")
		o.Types(fmt.Sprint("typed", i)) // behind what it has answered, had it been asked
		probe.reads(fmt.Sprint("typed", i))
		o.Types("\x1c")
		o.ends()
		o.isRestored()
	}
}
