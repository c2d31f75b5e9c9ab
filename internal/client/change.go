package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"termio/internal/api"
)

// maxRejoins bounds how often a call follows the daemon over restarts of its host.
const maxRejoins = 20

// change is do for a call that changes something. It carries an id of its own, so
// that a connection which is lost to a restart of the host loses no reply: the
// next host is asked for it. What no host has begun is sent again, and a daemon
// that keeps no requests gets nothing twice.
func change[T any](ctx context.Context, c *Client, k call) (T, error) {
	id := requestID()
	k.header = http.Header{api.HeaderRequest: {id}}
	deadline := time.Now().Add(cmp.Or(k.timeout, c.opts.Timeout))
	v, err := do[T](ctx, c, k)
	for n := 0; n < maxRejoins && errors.Is(err, errCutOff) && ctx.Err() == nil && time.Now().Before(deadline); n++ {
		// The reply may take as long as the call itself; that anybody is there
		// to give it shows at once.
		if _, gone := again(ctx, time.Now().Add(c.resumeWithin), func(within time.Duration) (string, error) { return c.hostName(ctx, within) }); gone != nil {
			return v, err
		}
		var head http.Header
		later, lost := do[T](ctx, c, call{route: api.RouteRequest, target: id, timeout: time.Until(deadline), heard: &head})
		switch head.Get(api.HeaderRequest) {
		case id:
			v, err = later, lost
		case api.RequestUnknown:
			k.timeout = max(time.Until(deadline), time.Millisecond)
			v, err = do[T](ctx, c, k)
		default:
			if !errors.Is(lost, errCutOff) {
				return v, err // a daemon that keeps none, or none at all
			}
		}
	}
	return v, err
}

// doWait is change for a call that waits for a turn: it outlives the daemon's wait,
// and where the connection is lost for good it says that the session is not.
func doWait(ctx context.Context, c *Client, k call, w api.Waiting) (api.WaitReply, error) {
	k.timeout = api.ClampTimeout(w.TimeoutMS) + waitGrace
	v, err := change[api.WaitReply](ctx, c, k)
	if errors.Is(err, errCutOff) {
		return v, unavailable("the wait was cut off: the daemon went away meanwhile; the session goes on, and termio sessions list tells what became of it")
	}
	return v, err
}

// requestID is a fresh UUID.
func requestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
