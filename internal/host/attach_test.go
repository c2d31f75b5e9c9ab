package host_test

import (
	"encoding/json"
	"testing"

	"termio/internal/api"
	"termio/internal/client"
	"termio/internal/termtest"
)

// A client that leads is told its size, but first of all what it is attached to.
func TestAttachBeginsWithAHello(t *testing.T) {
	d := termtest.Start(t)
	for _, tt := range []struct {
		name       string
		size       api.AttachSize
		cols, rows int
		leader     bool
	}{
		{"another size", api.AttachSize{Cols: 100, Rows: 30}, 100, 30, true},
		{"the same size", api.AttachSize{Cols: 80, Rows: 24}, 80, 24, true},
		{"hidden", api.AttachSize{}, 80, 24, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			link := d.Run("cat")
			at, err := d.Client().Attach(d.Context(), link, client.AttachOptions{Size: tt.size, Raw: true})
			if err != nil {
				t.Fatal(err)
			}
			defer at.Close()
			f, err := at.Read()
			if err != nil {
				t.Fatal(err)
			}
			if f.Kind != api.FrameHello {
				t.Fatalf("first frame is of kind %d, want the hello", f.Kind)
			}
			var h api.AttachHello
			if err := json.Unmarshal(f.Payload, &h); err != nil {
				t.Fatal(err)
			}
			if h.Target != link || h.Cols != tt.cols || h.Rows != tt.rows || h.Leader != tt.leader {
				t.Errorf("hello %+v, want %s at %dx%d, leader %v", h, link, tt.cols, tt.rows, tt.leader)
			}
		})
	}
}
