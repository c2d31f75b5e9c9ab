package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"termio/internal/api"
)

// change is do for a call that changes something. It carries an id of its own, so
// that a connection which is lost to a restart of the host loses no reply: the next
// host is asked for it, and the one after. The call itself is never made again: only
// the host that took it knows what has been done. undone says, for the person, what
// has not been done where no host knows of the call.
func change[T any](ctx context.Context, c *Client, k call, undone string) (T, error) {
	id := requestID()
	k.header = http.Header{api.HeaderRequest: {id}}
	deadline := time.Now().Add(cmp.Or(k.timeout, c.opts.Timeout))
	v, err := do[T](ctx, c, k)
	for errors.Is(err, errCutOff) && ctx.Err() == nil {
		// The reply may take as long as the call itself; that anybody is there
		// to give it shows at once.
		if _, gone := again(ctx, time.Now().Add(c.resumeWithin), func(within time.Duration) (string, error) { return c.hostName(ctx, within) }); gone != nil {
			if ctx.Err() != nil {
				return v, ctx.Err()
			}
			return v, unavailable("the termio daemon went away in the middle of the call and did not come back within %s (%v); sessions go on without it, and termio sessions list tells what became of this one",
				c.resumeWithin, gone)
		}
		var head http.Header
		v, err = do[T](ctx, c, call{route: api.RouteRequest, target: id, timeout: max(time.Until(deadline), time.Second), heard: &head})
		switch {
		case errors.Is(err, errCutOff):
		case head.Get(api.HeaderRequest) == api.RequestUnknown:
			return v, unavailable("the termio daemon was replaced before it had taken the call: %s; try again", undone)
		case api.CodeOf(err) == api.BadOp && head.Get(api.HeaderRequest) == "": // one that keeps none
			return v, unavailable("the termio daemon was replaced in the middle of the call; sessions go on, and termio sessions list tells what became of this one")
		}
	}
	return v, err
}

// What has not been done, in words.
const nothingStarted = "nothing was started"

func nothingTyped(target string) string { return fmt.Sprintf("nothing was typed into %q", target) }
func notClosed(target string) string    { return fmt.Sprintf("%q was not closed", target) }
func notResumed(target string) string   { return fmt.Sprintf("%q was not resumed", target) }

// doWait is change for a call that waits for a turn: it outlives the daemon's wait.
func doWait(ctx context.Context, c *Client, k call, w api.Waiting, undone string) (api.WaitReply, error) {
	k.timeout = api.ClampTimeout(w.TimeoutMS) + waitGrace
	return change[api.WaitReply](ctx, c, k, undone)
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
