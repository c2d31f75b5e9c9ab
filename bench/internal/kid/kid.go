// Package kid is the program that runs inside the sessions of a benchmark, and the
// driver's side of the wire to it.
//
// A kid connects to the driver's socket, says who it is, and does what it is told: it
// writes a payload, echoes keys, chatters, floods, fills the history, runs commands
// and measures them. So the same program runs in every multiplexer, started by the same
// words, and what is measured inside a session is measured there.
//
// A Kid and a Listener belong to one goroutine.
package kid

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// SocketVar is the variable that holds the driver's socket.
const SocketVar = "TERMBENCH_KID"

// Patience bounds every order.
const Patience = 30 * time.Second

// Orders.
const (
	Drain   = "drain"   // write File once
	Echo    = "echo"    // from now on write back each byte that is read
	Chatter = "chatter" // from now on write a little every few milliseconds
	Flood   = "flood"   // from now on write File over and over
	Exec    = "exec"    // run Argv with Stdin, Times times
	Put     = "put"     // write Text
	Post    = "post"    // post a report of the state Text to the termio daemon
	Await   = "await"   // wait until the terminal has Cols columns and Rows rows
)

// An Order is what a kid shall do.
type Order struct {
	Do    string
	File  string   `json:",omitempty"`
	Query bool     `json:",omitempty"` // Drain: the terminal answers a query, and the last byte counts when it has
	Argv  []string `json:",omitempty"`
	Stdin string   `json:",omitempty"`
	Times int      `json:",omitempty"`
	Text  string   `json:",omitempty"`
	Cols  int      `json:",omitempty"`
	Rows  int      `json:",omitempty"`
}

// An Answer tells that an order has been carried out; the first one, that the kid is
// there. Times are of machine.Now.
type Answer struct {
	PID    int
	Parent int
	Env    []string      `json:",omitempty"` // the first answer's: what the session gave it
	Began  time.Duration // just before the work
	Ended  time.Duration // just after it
	Took   []time.Duration
	Error  string `json:",omitempty"`
}

// A Listener is where kids come in.
type Listener struct{ ln *net.UnixListener }

// Listen makes the socket.
func Listen(socket string) (*Listener, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("wait for kids: %w", err)
	}
	return &Listener{ln}, nil
}

// Close removes the socket.
func (l *Listener) Close() { _ = l.ln.Close() }

// A Kid is one that has come in.
type Kid struct {
	Answer // its first
	conn   net.Conn
	in     *bufio.Reader
}

// Accept waits for the next kid.
func (l *Listener) Accept() (*Kid, error) {
	if err := l.ln.SetDeadline(time.Now().Add(Patience)); err != nil {
		return nil, err
	}
	conn, err := l.ln.Accept()
	if err != nil {
		return nil, fmt.Errorf("wait for the program in the session: %w", err)
	}
	k := &Kid{conn: conn, in: bufio.NewReader(conn)}
	if k.Answer, err = k.Answered(); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// Close hangs up; the kid then ends.
func (k *Kid) Close() { _ = k.conn.Close() }

// Order gives an order without waiting for its answer.
func (k *Kid) Order(o Order) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = k.conn.Write(append(data, '\n'))
	return err
}

// Answered waits for the answer to an order.
func (k *Kid) Answered() (Answer, error) {
	var a Answer
	if err := k.conn.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		return a, err
	}
	line, err := k.in.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("the program in the session: %w", err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("the program in the session: %w", err)
	}
	if a.Error != "" {
		err = fmt.Errorf("the program in the session: %w", errors.New(a.Error))
	}
	return a, err
}

// Do gives an order and waits until it has been carried out.
func (k *Kid) Do(o Order) (Answer, error) {
	if err := k.Order(o); err != nil {
		return Answer{}, fmt.Errorf("the program in the session: %w", err)
	}
	return k.Answered()
}

// Var is a variable of the kid's environment, "" if it is not set.
func (k *Kid) Var(name string) string {
	for _, kv := range k.Env {
		if len(kv) > len(name) && kv[:len(name)] == name && kv[len(name)] == '=' {
			return kv[len(name)+1:]
		}
	}
	return ""
}

// Run is the kid: it obeys until the driver hangs up.
func Run(environ []string) error {
	conn, err := net.Dial("unix", os.Getenv(SocketVar))
	if err != nil {
		return err
	}
	defer conn.Close()
	enc := json.NewEncoder(conn)
	if err := enc.Encode(Answer{PID: os.Getpid(), Parent: os.Getppid(), Env: environ}); err != nil {
		return err
	}
	dec := json.NewDecoder(conn)
	var w worker
	for {
		var o Order
		if dec.Decode(&o) != nil {
			return nil // the driver has hung up
		}
		a, err := w.obey(o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := enc.Encode(a); err != nil {
			return nil
		}
	}
}
