// Package client speaks to a termio daemon: a method for each route of api,
// over the unix socket of a termio home, with a daemon started on demand.
//
// It hides how a daemon is found and started, how long a reply may take, and how
// a watch or an attach goes on after the host behind the socket was replaced.
// The command line and the terminal interface are its callers. It never prints,
// never decides about a session and keeps no state of one: what a caller gets
// are the values of api, and errors that carry an api.Code.
//
// Each call has a connection of its own, so a Client may be used by any number
// of goroutines at once; a Watch and an Attach each belong to one reader.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"termio/internal/api"
	"termio/internal/config"
)

// waitGrace is by how much a client outlives the daemon's own wait, so that the
// daemon's answer to a wait that timed out still arrives.
const waitGrace = 30 * time.Second

// maxReply bounds a reply in bytes. The largest is a screen with its history.
const maxReply = 256 << 20

// Options say who calls, and how patient it is.
type Options struct {
	Session string        // TERMIO_SESSION of the caller's environment
	Cwd     string        // the caller's working folder, absolute
	Timeout time.Duration // until a one-shot call must be answered; 0 is config.DefaultCLITimeout

	// Interface: the caller shows a person every project, and does what they do.
	// Session control that is off does not hold it up.
	Interface bool

	// Start starts a daemon where none answers. Exe is the program to start;
	// "" is the running one. Environ is what the daemon inherits.
	Start   bool
	Exe     string
	Environ []string
}

// A Client calls the daemon of one termio home.
type Client struct {
	paths config.Paths
	opts  Options

	resumeWithin, attachWithin time.Duration // constants but for tests

	daemon atomic.Pointer[string]   // version that the last reply came from
	first  atomic.Pointer[net.Conn] // Dial's own connection, for the first call
}

// firstFor is how long Dial's connection waits for the first call.
const firstFor = time.Second

// Dial makes sure that something listens on the home's socket, starting a
// daemon if the options allow it. Its errors have the code unavailable and tell
// a missing socket, a refused connection and a failed start apart.
func Dial(ctx context.Context, paths config.Paths, opts Options) (*Client, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = config.DefaultCLITimeout
	}
	c := &Client{paths: paths, opts: opts, resumeWithin: resumeWithin, attachWithin: attachWithin}
	if err := paths.CheckSocket(); err != nil {
		return nil, unavailable("%v", err)
	}
	conn, err := c.connect(ctx)
	if err != nil {
		if !opts.Start || !absent(err) {
			return nil, c.unreachable(err)
		}
		if conn, err = c.start(ctx); err != nil {
			return nil, err
		}
	}
	c.first.Store(&conn)
	time.AfterFunc(firstFor, func() {
		if unused := c.first.Swap(nil); unused != nil {
			_ = (*unused).Close()
		}
	})
	return c, nil
}

// DaemonVersion is the version of the daemon that answered last; "" before that, or
// if it does not say.
func (c *Client) DaemonVersion() string {
	if v := c.daemon.Load(); v != nil {
		return *v
	}
	return ""
}

// Paths is where the daemon's files lie.
func (c *Client) Paths() config.Paths { return c.paths }

// connect opens one connection to the socket.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", c.paths.Socket)
}

// Absent reports whether no daemon is there: none has left a socket, or nobody listens
// on the one that was left. One that cannot be reached for another reason is there.
func Absent(paths config.Paths) bool {
	conn, err := net.DialTimeout("unix", paths.Socket, time.Second)
	if err != nil {
		return absent(err)
	}
	_ = conn.Close()
	return false
}

// connection is a connection for one call: Dial's own, or a new one.
func (c *Client) connection(ctx context.Context) (net.Conn, error) {
	if first := c.first.Swap(nil); first != nil {
		return *first, nil
	}
	return c.connect(ctx)
}

// absent reports whether a failed connect means that no daemon is there, rather
// than one that cannot be reached.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// unreachable says in one sentence why no connection came about.
func (c *Client) unreachable(err error) error {
	sock := c.paths.Socket
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return unavailable("no termio daemon is running: there is no socket at %s; termio daemon start starts one", sock)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unavailable("the termio daemon is gone: nobody listens on the socket it left at %s; termio daemon start starts a new one", sock)
	case errors.Is(err, fs.ErrPermission):
		return unavailable("the socket %s belongs to another user; set TERMIO_HOME to a folder of your own", sock)
	}
	return unavailable("cannot reach the termio daemon at %s: %v", sock, err)
}

// silent is the error of a daemon that took a call and did not answer in time.
func (c *Client) silent(after time.Duration) error {
	return unavailable("the termio daemon at %s took the call but sent nothing for %s; look at %s, or give it longer with TERMIO_CLI_TIMEOUT=SECONDS",
		c.paths.Socket, after, c.paths.Log)
}

// unavailable makes an error of that code.
func unavailable(format string, args ...any) *api.Error {
	return api.NewError(api.Unavailable, fmt.Sprintf(format, args...))
}

// A call is one request to the daemon.
type call struct {
	route   string // a Route of api
	target  string // fills {target}
	query   url.Values
	body    any           // encoded as JSON
	header  http.Header   // beside the caller's introduction
	timeout time.Duration // until the reply's head has arrived and, unless stream is set, all of it; 0 is the client's own
	stream  bool          // the connection outlives the reply's head
	heard   *http.Header  // where the reply's head goes, of an error too; nil is nowhere
}

// request builds the HTTP request of a call.
func (c *Client) request(k call) (*http.Request, error) {
	method, path, _ := strings.Cut(k.route, " ")
	raw := path
	if strings.Contains(path, "{target}") {
		if k.target == "" {
			return nil, api.NewError(api.NoTarget, "no session given: name it by its link, id or title; termio sessions list shows them")
		}
		raw = strings.Replace(path, "{target}", escapeSegment(k.target), 1)
		path = strings.Replace(path, "{target}", k.target, 1)
	}
	req := &http.Request{
		Method: method,
		URL:    &url.URL{Scheme: "http", Host: "termio", Path: path, RawPath: raw, RawQuery: k.query.Encode()},
		Header: http.Header{},
	}
	maps.Copy(req.Header, k.header)
	req.Header.Set("User-Agent", "termio/"+config.Version)
	req.Header.Set(api.HeaderVersion, config.Version)
	if c.opts.Interface {
		req.Header.Set(api.HeaderInterface, "1")
	}
	if c.opts.Session != "" {
		req.Header.Set(api.HeaderSession, c.opts.Session)
	}
	if c.opts.Cwd != "" {
		req.Header.Set(api.HeaderCwd, url.PathEscape(c.opts.Cwd))
	}
	if k.body != nil {
		data, err := json.Marshal(k.body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		req.Body = io.NopCloser(bytes.NewReader(data))
		req.ContentLength = int64(len(data))
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// escapeSegment makes any address one path segment. Dots are escaped as well,
// for a server would take ".." as a step up.
func escapeSegment(s string) string {
	return strings.ReplaceAll(url.PathEscape(s), ".", "%2E")
}

// A reply is an open answer: its head is read, its body is not.
type reply struct {
	*http.Response
	conn net.Conn
	br   *bufio.Reader
	stop func() bool // unbinds the context
}

func (r *reply) close() {
	r.stop()
	_ = r.conn.Close()
}

// open sends a call and reads the head of its answer. An answer that is an error
// of the daemon is returned as that error. The context bounds everything that
// is done with the connection. A call that only asks and was hit by the end of a
// host is put to the next one.
func (c *Client) open(ctx context.Context, k call) (*reply, error) {
	r, err := c.try(ctx, k)
	if errors.Is(err, errCutOff) && strings.HasPrefix(k.route, http.MethodGet) && ctx.Err() == nil {
		r, err = c.try(ctx, k)
	}
	return r, err
}

// try is one attempt of open.
func (c *Client) try(ctx context.Context, k call) (*reply, error) {
	req, err := c.request(k)
	if err != nil {
		return nil, err
	}
	timeout := k.timeout
	if timeout == 0 {
		timeout = c.opts.Timeout
	}
	conn, err := c.connection(ctx)
	if err != nil {
		return nil, c.unreachable(err)
	}
	r := &reply{conn: conn, br: bufio.NewReader(conn)}
	r.stop = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		r.close()
		return nil, fmt.Errorf("call the daemon: %w", err)
	}
	// A daemon may answer before it has read a body that it refuses, so a
	// failed write still leaves a reply to look for.
	writeErr := req.Write(conn)
	r.Response, err = http.ReadResponse(r.br, req)
	if err == nil {
		if v := r.Header.Get(api.HeaderDaemon); v != "" {
			c.daemon.Store(&v)
		}
		if k.heard != nil {
			*k.heard = r.Header
		}
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = c.silent(timeout)
	case writeErr != nil && !errors.Is(writeErr, syscall.EPIPE) && !errors.Is(writeErr, syscall.ECONNRESET):
		err = unavailable("the call to the termio daemon at %s broke off: %v", c.paths.Socket, writeErr)
	default:
		err = c.cutOff()
	}
	if err == nil && r.StatusCode >= 300 {
		err = c.refusal(r)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	if k.stream {
		err = conn.SetDeadline(time.Time{})
		if ctx.Err() != nil { // ended just now: its deadline has been overwritten
			err = ctx.Err()
		}
		if err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

// errCutOff is a connection that ended before its reply, as it does when the
// host is replaced.
var errCutOff = errors.New("connection lost")

// cutOffError is how a caller sees it.
type cutOffError struct{ error }

func (e cutOffError) Unwrap() []error { return []error{errCutOff, e.error} }

// cutOff is the error of a daemon that hung up without an answer.
func (c *Client) cutOff() error {
	return cutOffError{unavailable("the termio daemon hung up without a reply; try again, and look at %s if it stays so", c.paths.Log)}
}

// refusal reads the daemon's error object.
func (c *Client) refusal(r *reply) error {
	data, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var e api.Error
	if err == nil && json.Unmarshal(data, &e) == nil && e.Code != "" {
		return &e
	}
	return unavailable("what listens at %s answered %s, which is no reply of a termio daemon", c.paths.Socket, r.Status)
}

// do sends a call and decodes its reply. A reply that does not say "ok" is an
// error, an empty one too.
func do[T any](ctx context.Context, c *Client, k call) (T, error) {
	var v T
	r, err := c.open(ctx, k)
	if err != nil {
		return v, err
	}
	defer r.close()
	data, err := io.ReadAll(io.LimitReader(r.Body, maxReply))
	switch {
	case ctx.Err() != nil:
		return v, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return v, c.silent(c.opts.Timeout)
	case err != nil:
		return v, c.cutOff()
	case r.StatusCode == http.StatusNoContent:
		return v, nil
	case len(data) == 0:
		return v, unavailable("the termio daemon sent an empty reply; look at %s", c.paths.Log)
	}
	var head api.Head
	if err := json.Unmarshal(data, &head); err != nil {
		return v, unavailable("the termio daemon's reply is no JSON (%v); look at %s", err, c.paths.Log)
	}
	if !head.OK {
		var e api.Error
		if json.Unmarshal(data, &e) == nil && e.Code != "" {
			return v, &e
		}
		return v, unavailable(`the termio daemon's reply says neither "ok" nor what went wrong; look at %s`, c.paths.Log)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, unavailable("the termio daemon's reply has another shape than this version knows (%v); compare termio version with termio daemon status", err)
	}
	return v, nil
}

// flag adds a query parameter that is 1 when set.
func flag(q url.Values, name string, on bool) {
	if on {
		q.Set(name, "1")
	}
}

// number adds a query parameter unless it is 0.
func number(q url.Values, name string, n int) {
	if n != 0 {
		q.Set(name, strconv.Itoa(n))
	}
}
