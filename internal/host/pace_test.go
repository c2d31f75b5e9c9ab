package host

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"termio/internal/api"
	"termio/internal/vt"
)

// A program that draws itself anew thousands of times between two pictures that
// anybody could see costs its clients a few writes: on the alternate screen one
// picture is enough, on the main screen every byte arrives.
func TestRedrawsAreHeldTogether(t *testing.T) {
	const redraws = 5000
	for _, tt := range []struct {
		name, enter string
		raw, all    bool
	}{
		{"raw, alternate screen", "\x1b[?1049h", true, false},
		{"raw, main screen", "", true, true},
		{"a screen of its own, alternate screen", "\x1b[?1049h", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &session{screen: vt.New(vt.Options{Cols: 80, Rows: 24})}
			near, far := net.Pipe()
			defer far.Close()
			if err := far.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			a := &Attachment{s: s, raw: tt.raw, conn: near, done: make(chan struct{}), typing: newTyping()}
			s.clients = []*Attachment{a}
			s.mu.Lock() // so all of it comes before the next picture
			now := time.Now()
			total := 0
			write := func(text string) {
				_, _ = s.screen.Write([]byte(text))
				s.fanOutLocked(s.seq, []byte(text), now)
				s.seq += int64(len(text))
				total += len(text)
			}
			write(tt.enter)
			for i := range redraws {
				write(fmt.Sprintf("\x1b[H\x1b[3%dm%s\x1b[Hredraw %d", i%8, strings.Repeat("x", 80), i))
			}
			s.mu.Unlock()

			got := vt.New(vt.Options{Cols: 80, Rows: 24})
			frames, bytes := 0, 0
			last := fmt.Sprintf("redraw %d", redraws-1)
			for fr := api.NewFrameReader(far); !strings.HasPrefix(got.RowText(0), last); {
				f, err := fr.Read()
				if err != nil {
					t.Fatal(err)
				}
				frames++
				if f.Kind == api.FrameSnapshot || f.Kind == api.FrameOutput {
					bytes += len(f.Payload) - 8
					_, _ = got.Write(f.Payload[8:])
				}
			}
			if tt.all && bytes < total {
				t.Errorf("%d of %d bytes arrived", bytes, total)
			}
			if !tt.all && (bytes > total/10 || frames > 2*paceBurst) {
				t.Errorf("%d bytes in %d frames arrived of %d", bytes, frames, total)
			}
			far.Close()
			s.wg.Wait()
		})
	}
}
