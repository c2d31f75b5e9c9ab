package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"termio/internal/api"
)

// Fleet calls each with every line of the fleet stream: first all there is, then what
// changes, until the context ends, which is no error. When the host behind the socket
// is replaced it begins again by itself, with a line that is whole; where no host comes
// back it returns an error of the code unavailable. An error of each ends it and is
// returned.
func (c *Client) Fleet(ctx context.Context, each func(api.FleetLine) error) error {
	for {
		heard, err := c.fleet(ctx, each)
		switch {
		case ctx.Err() != nil:
			return nil
		case !heard:
			return err
		}
	}
}

// fleet reads one stream to its end; heard is false if that is for the caller.
func (c *Client) fleet(ctx context.Context, each func(api.FleetLine) error) (heard bool, err error) {
	r, err := c.open(ctx, call{route: api.RouteFleet, stream: true})
	if err != nil {
		return false, err
	}
	defer r.close()
	for br := bufio.NewReaderSize(r.Body, 64<<10); ; {
		data, err := readLine(br)
		if err != nil {
			return true, err
		}
		var line struct {
			api.FleetLine
			Error string `json:"error"`
		}
		if err := json.Unmarshal(data, &line); err != nil {
			return false, unavailable("the daemon's stream holds a line of another shape (%v); compare termio version with termio daemon status", err)
		}
		if line.Error != "" {
			var e api.Error
			if err := json.Unmarshal(data, &e); err == nil {
				return false, fmt.Errorf("%w: %w", ErrStreamEnded, &e)
			}
		}
		if err := each(line.FleetLine); err != nil {
			return false, err
		}
	}
}
