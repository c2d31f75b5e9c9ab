package pty

import "testing"

func TestParseStat(t *testing.T) {
	const tail = " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 "
	for _, tt := range []struct {
		name, line string
		want       Info
		ok         bool
	}{
		{
			"usual", "4242 (cat) S 10 20 30 34816 4242 4194304 95 0 0 0 1 2 3 4 20 0 1 0 987654 2433024 228",
			Info{Proc: Proc{4242, 987654}, Parent: 10, Group: 20, Session: 30, Name: "cat"},
			true,
		},
		{
			"a name that looks like the rest", "7 (a) S 1 (b) R 9 9 9 9 9) S 10 20 30 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 11 0",
			Info{Proc: Proc{7, 11}, Parent: 10, Group: 20, Session: 30, Name: "a) S 1 (b) R 9 9 9 9 9"},
			true,
		},
		{
			"ended", "7 (sh) Z 10 20 30 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 11 0",
			Info{Proc: Proc{7, 11}, Parent: 10, Group: 20, Session: 30, Name: "sh", Ended: true},
			true,
		},
		{
			"main thread ended, others run", "7 (sh) Z 10 20 30 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 11 0",
			Info{Proc: Proc{7, 11}, Parent: 10, Group: 20, Session: 30, Name: "sh"},
			true,
		},
		{"cut short", "7 (sh) S" + tail, Info{}, false},
		{"no name", "7 sh S 10 20 30", Info{}, false},
		{"no number", "x (sh) S 10 20 30 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 11 0", Info{}, false},
		{"empty", "", Info{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseStat([]byte(tt.line))
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("got %+v, %v; want %+v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}
