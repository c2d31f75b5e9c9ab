package notify

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"termio/internal/api"
	"termio/internal/config"
)

// startBus starts a session bus of the test's own.
func startBus(t *testing.T) (socket string, stop func()) {
	t.Helper()
	path, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is not installed")
	}
	dir, err := os.MkdirTemp("/tmp", "tn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "bus")
	conf := filepath.Join(dir, "bus.conf")
	const text = `<busconfig><type>session</type><listen>unix:path=SOCKET</listen><auth>EXTERNAL</auth>
		<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`
	if err := os.WriteFile(conf, []byte(strings.Replace(text, "SOCKET", socket, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--nofork", "--nopidfile", "--print-address", "--config-file="+conf)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it serves when it has said where
		_ = cmd.Wait()
		t.Fatalf("dbus-daemon: %v\n%s", err, stderr.String())
	}
	return socket, stop
}

// desktop is a notification service that keeps what it is asked to show.
type desktop struct {
	can    []string
	shown  chan shownNote
	nextID uint32
}

type shownNote struct {
	Replaces    uint32
	Title, Body string
	Urgency     byte
}

// GetCapabilities is the service's.
func (d *desktop) GetCapabilities() ([]string, *dbus.Error) { return d.can, nil }

// Notify is the service's.
func (d *desktop) Notify(_ string, replaces uint32, _, title, body string, _ []string, hints map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	urgency, _ := hints["urgency"].Value().(byte)
	d.shown <- shownNote{replaces, title, body, urgency}
	d.nextID++
	return d.nextID, nil
}

// serve puts a notification service on a bus.
func serve(t *testing.T, socket string, can ...string) *desktop {
	t.Helper()
	conn, err := dbus.Connect("unix:path=" + socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	d := &desktop{can: can, shown: make(chan shownNote, 10)}
	if err := conn.Export(d, busPath, busName); err != nil {
		t.Fatal(err)
	}
	if r, err := conn.RequestName(busName, dbus.NameFlagDoNotQueue); err != nil || r != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("%v, %v", r, err)
	}
	return d
}

// next is the next notification shown.
func (d *desktop) next(t *testing.T) shownNote {
	t.Helper()
	select {
	case n := <-d.shown:
		return n
	case <-time.After(time.Minute):
		t.Fatal("nothing was shown")
		return shownNote{}
	}
}

// newDesktop is a Notifier with the desktop alone, in an environment.
func newDesktop(t *testing.T, report func(string, error), environ ...string) *Notifier {
	t.Helper()
	env, err := config.FromEnv(append([]string{"HOME=/nowhere", "XDG_RUNTIME_DIR=/nowhere"}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	n := New(report, Desktop(env))
	t.Cleanup(n.Close)
	return n
}

func TestDesktop(t *testing.T) {
	socket, _ := startBus(t)
	d := serve(t, socket, "body", "body-markup")
	n := newDesktop(t, unexpected(t), "DBUS_SESSION_BUS_ADDRESS=unix:path="+socket)

	n.Notify(Notification{Title: "shop: <b>t</b>", Body: "Allow <a href=\"x\">this</a> & that?\nyes", Link: "l1", Reason: api.NeedsYou})
	n.Notify(Notification{Title: "b", Link: "l2", Reason: api.Done})
	n.Notify(Notification{Title: "c", Link: "l1"})
	n.Notify(Notification{Title: "d"})
	n.Notify(Notification{Title: "e"})
	want := []shownNote{
		{0, "shop: <b>t</b>", "Allow &lt;a href=&#34;x&#34;&gt;this&lt;/a&gt; &amp; that?\nyes", 1},
		{0, "b", "", 0},
		{1, "c", "", 1}, // in place of the session's first one
		{0, "d", "", 1},
		{0, "e", "", 1},
	}
	for _, w := range want {
		if diff := cmp.Diff(w, d.next(t)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDesktopWithoutMarkup(t *testing.T) {
	socket, _ := startBus(t)
	d := serve(t, socket, "body")
	n := newDesktop(t, unexpected(t), "XDG_RUNTIME_DIR="+filepath.Dir(socket))
	n.Notify(Notification{Title: "t", Body: "a < b && c"})
	if got := d.next(t).Body; got != "a < b && c" {
		t.Errorf("body %q", got)
	}
}

// A machine without a desktop is the rule for a daemon: nobody is told.
func TestNoDesktop(t *testing.T) {
	n := newDesktop(t, unexpected(t))
	if got := n.Ready(); got != nil {
		t.Errorf("ready: %q", got)
	}
	n.Notify(Notification{Title: "t"})
	n.Close()

	socket, _ := startBus(t) // a bus with no desktop on it
	n = newDesktop(t, unexpected(t), "DBUS_SESSION_BUS_ADDRESS=unix:path="+socket)
	n.Notify(Notification{Title: "t"})
	d := serve(t, socket)
	n.Notify(Notification{Title: "u"}) // whichever came before the service, this one is shown
	for d.next(t).Title != "u" {
	}
}

// The bus goes away with its desktop and another one comes: the next
// notification finds it.
func TestDesktopComesBack(t *testing.T) {
	runtime, err := os.MkdirTemp("/tmp", "tn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) })
	env, err := config.FromEnv([]string{"HOME=/nowhere", "XDG_RUNTIME_DIR=" + runtime})
	if err != nil {
		t.Fatal(err)
	}
	c := Desktop(env)
	link := filepath.Join(runtime, "bus")
	for _, title := range []string{"first", "second"} {
		socket, stop := startBus(t)
		if err := os.Symlink(socket, link); err != nil {
			t.Fatal(err)
		}
		d := serve(t, socket)
		if err := c.Send(t.Context(), Notification{Title: title, Link: "l"}); err != nil {
			t.Error(err)
		}
		if got := d.next(t); got.Title != title || got.Replaces != 0 {
			t.Errorf("shown %+v", got)
		}
		stop()
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Something that listens and never answers holds the worker for a while, and
// nobody else.
func TestSilentBus(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "tn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			accepted <- c
		}
	}()
	n := newDesktop(t, unexpected(t), "XDG_RUNTIME_DIR="+dir)
	n.Notify(Notification{Title: "t"})
	c := <-accepted
	defer c.Close()
	n.Close() // does not wait for the bus
}
