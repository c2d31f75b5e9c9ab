package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"termio/internal/api"
)

// resumeWithin is how long a watch or an attach looks for the next host once
// its own is gone.
const resumeWithin = 5 * time.Second

// maxLine bounds a line of watch in bytes. Events are far smaller.
const maxLine = 4 << 20

// WatchOptions choose what a watch tells.
type WatchOptions struct {
	States     []api.Status // of live events; none is the daemon's default, done and needs-you
	NoSnapshot bool         // do not begin with what is
	All        bool         // every project
	Since      *int64       // replay what came after this event
	Heartbeat  bool         // a line after api.HeartbeatAfter of silence
}

// A Line is one line of a watch: exactly one of its fields is set.
type Line struct {
	Event     *api.Event
	Lost      *api.Lost
	Heartbeat bool
}

// ErrStreamEnded is a watch that was ended from the daemon's side: cut off
// because its reader was too slow, or with no host to go on with. An *api.Error
// beside it says which.
var ErrStreamEnded = errors.New("the daemon closed the stream")

// Watch calls each with every line until the context ends, which is no error.
// A watch that is refused gives the daemon's error. When the host behind the
// socket is replaced, Watch goes on once by itself after the last event it saw;
// when the stream ends otherwise, it returns ErrStreamEnded. An error of each
// ends it and is returned.
func (c *Client) Watch(ctx context.Context, o WatchOptions, each func(Line) error) error {
	w := &watch{c: c, o: o, each: each, last: -1}
	err := w.stream(ctx, 0)
	if errors.Is(err, errHostGone) {
		err = w.resume(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, errHostGone):
		return w.over("the host behind it was replaced again")
	}
	return err
}

// errHostGone is a stream that broke off because its host went away.
var errHostGone = errors.New("host gone")

// over is the error of a watch that the daemon's side ended, with the way to go on.
func (w *watch) over(why string) error {
	from := ""
	if w.last >= 0 {
		from = fmt.Sprintf("; termio sessions watch --since %d goes on where it ended", w.last)
	}
	return fmt.Errorf("%w: %w", ErrStreamEnded, unavailable("the watch was ended from the daemon's side: %s%s", why, from))
}

// watch is the state of one Watch over its two streams.
type watch struct {
	c    *Client
	o    WatchOptions
	each func(Line) error
	last int64  // the last event's number; negative while none is known
	host string // which host serves the stream
}

// stream opens one stream and reads it to its end.
func (w *watch) stream(ctx context.Context, headWithin time.Duration) error {
	r, err := w.c.open(ctx, call{route: api.RouteWatch, query: w.query(), timeout: headWithin, stream: true})
	if err != nil {
		return err
	}
	defer r.close()
	w.host = r.Header.Get(api.HeaderHost)
	if seq, err := strconv.ParseInt(r.Header.Get(api.HeaderSeq), 10, 64); err == nil && w.last < 0 && w.o.Since == nil {
		w.last = seq
	}
	br := bufio.NewReaderSize(r.Body, 64<<10)
	for {
		line, err := readLine(br)
		if err != nil {
			return w.ended(ctx, err)
		}
		if err := w.line(line); err != nil {
			return err
		}
	}
}

// query spells the options for the route.
func (w *watch) query() url.Values {
	q := url.Values{}
	if len(w.o.States) > 0 {
		words := make([]string, len(w.o.States))
		for i, s := range w.o.States {
			words[i] = string(s)
		}
		q.Set("state", strings.Join(words, ","))
	}
	if w.o.NoSnapshot {
		q.Set("snapshot", "0")
	}
	flag(q, "all", w.o.All)
	flag(q, "heartbeat", w.o.Heartbeat)
	if w.o.Since != nil {
		q.Set("since", strconv.FormatInt(*w.o.Since, 10))
	}
	return q
}

// line decodes one line and hands it on. What a newer daemon says and this
// version does not know is passed over.
func (w *watch) line(data []byte) error {
	var l struct {
		Link      string `json:"link"`
		Lost      bool   `json:"lost"`
		Heartbeat bool   `json:"heartbeat"`
		Error     string `json:"error"`
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return unavailable("the daemon's stream holds a line that is no JSON (%v); look at %s", err, w.c.paths.Log)
	}
	switch {
	case l.Link != "":
		var e api.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return unavailable("the daemon's stream holds an event of another shape (%v); compare termio version with termio daemon status", err)
		}
		w.last = max(w.last, e.Seq)
		return w.each(Line{Event: &e})
	case l.Lost:
		var lost api.Lost
		if err := json.Unmarshal(data, &lost); err != nil {
			return unavailable("the daemon's stream holds a line of another shape (%v)", err)
		}
		return w.each(Line{Lost: &lost})
	case l.Heartbeat:
		return w.each(Line{Heartbeat: true})
	case l.Error != "":
		var e api.Error
		if err := json.Unmarshal(data, &e); err != nil {
			return w.over("it does not say why")
		}
		return fmt.Errorf("%w: %w", ErrStreamEnded, &e)
	}
	return nil
}

// ended tells a host that went away from a host that closed this stream. A
// stream that the daemon ends is ended in order, unless its reader was so slow
// that nothing more could be written: then the same host still answers.
func (w *watch) ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return w.over("it was ended in order, and not said why")
	case errors.Is(err, bufio.ErrTooLong):
		return unavailable("the daemon's stream holds a line of more than %d bytes", maxLine)
	}
	return errHostGone
}

// resume opens the second stream, on the host that comes after the first.
func (w *watch) resume(ctx context.Context) error {
	before := w.host
	deadline := time.Now().Add(w.c.resumeWithin)
	v, err := again(ctx, deadline, func(within time.Duration) (string, error) { return w.c.hostName(ctx, within) })
	if err != nil {
		return w.over(fmt.Sprintf("the daemon went away and did not come back within %s (%v)", w.c.resumeWithin, err))
	}
	if before != "" && v == before { // the same host goes on
		return w.over("this reader was cut off")
	}
	if w.last >= 0 {
		w.o.NoSnapshot = true
		w.o.Since = &w.last
	}
	return w.stream(ctx, max(time.Until(deadline), time.Second))
}

// hostName asks which host answers at the socket.
func (c *Client) hostName(ctx context.Context, within time.Duration) (string, error) {
	r, err := c.open(ctx, call{route: api.RouteVersion, timeout: within})
	if err != nil {
		return "", err
	}
	defer r.close()
	return r.Header.Get(api.HeaderHost), nil
}

// again tries until it succeeds or the deadline has passed. While a host is
// replaced its socket stays open and a call waits in the queue, so a try takes
// as long as the host does; one that fails at once, as when a host dies under
// it, is tried again after a pause that grows.
func again[T any](ctx context.Context, deadline time.Time, try func(within time.Duration) (T, error)) (T, error) {
	pause := 5 * time.Millisecond
	for {
		v, err := try(max(time.Until(deadline), time.Millisecond))
		if err == nil || ctx.Err() != nil {
			return v, err
		}
		if code := api.CodeOf(err); code != api.Unavailable && code != api.Internal {
			return v, err
		}
		if time.Until(deadline) < pause {
			return v, err
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return v, ctx.Err()
		case <-t.C:
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// readLine reads one line without its end; io.EOF stands for a stream that was
// ended in order between two lines.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case len(line) > maxLine:
			return nil, bufio.ErrTooLong
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, err
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
