package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// probe is a program that does nothing to its terminal: it copies what it gets on
// standard input to a file, byte for byte, and says of each read how much it was.
// On a terminal that is left cooked this shows what the line discipline lets through,
// and with a slow pace what becomes of what is not read in time.
func probe(stdio Stdio, path string, pace reading) (int, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return exitError, fmt.Errorf("open the probe's file: %w", err)
	}
	defer func() { _ = f.Close() }()
	if _, err := fmt.Fprintln(stdio.Out, "probe ready"); err != nil {
		return exitError, fmt.Errorf("write: %w", err)
	}
	buf := make([]byte, limit(pace.bytes, 64<<10))
	for {
		n, err := stdio.In.Read(buf)
		if n > 0 {
			if _, werr := f.Write(buf[:n]); werr != nil {
				return exitError, fmt.Errorf("write the probe's file: %w", werr)
			}
			if _, werr := fmt.Fprintf(stdio.Out, "probe got %d bytes\n", n); werr != nil {
				return exitError, fmt.Errorf("write: %w", werr)
			}
			pause(context.Background(), pace.every)
		}
		if errors.Is(err, io.EOF) {
			return exitOK, nil
		}
		if err != nil {
			return exitError, fmt.Errorf("read: %w", err)
		}
	}
}
