package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"
)

// A test binary plays the daemon's processes when the environment names a role.
const (
	roleVar   = "KEEPER_TEST_ROLE"
	configVar = "KEEPER_TEST_CONFIG"
)

// testConfig is what a keeper under test is started with.
type testConfig struct {
	Socket, LockFile, HostPath string
	Log                        string // file
	ReadyFD                    int
	HostRole                   string
	Grace                      time.Duration
}

func TestMain(m *testing.M) {
	var err error
	switch role := os.Getenv(roleVar); role {
	case "":
		os.Exit(m.Run())
	case "keeper":
		err = playKeeper()
	case "host":
		err = playHost()
	case "broken host":
		err = errors.New("a host that can't start")
	case "numbers":
		err = playNumbers(os.Args[1])
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func playKeeper() error {
	var tc testConfig
	if err := json.Unmarshal([]byte(os.Getenv(configVar)), &tc); err != nil {
		return err
	}
	log, err := os.OpenFile(tc.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cfg := Config{
		Socket:          tc.Socket,
		LockFile:        tc.LockFile,
		HostPath:        tc.HostPath,
		HostArgs:        []string{"a host"},
		HostEnv:         append([]string{roleVar + "=" + tc.HostRole}, os.Environ()...), // the first one counts
		Grace:           tc.Grace,
		MaxRestartDelay: 5 * time.Millisecond,
		Log:             slog.New(slog.NewTextHandler(log, nil)),
	}
	if tc.ReadyFD > 0 {
		cfg.Ready = os.NewFile(uintptr(tc.ReadyFD), "ready")
	}
	return Run(context.Background(), cfg)
}

// numbers makes the numbered records that a flood consists of: what stands at an
// offset of the output follows from the offset.
type numbers struct {
	record []byte // digits and a line's end, as a terminal shows it
}

const recordLen = 16

func newNumbers(first int) *numbers {
	return &numbers{fmt.Appendf(nil, "%0*d\r\n", recordLen-2, first)}
}

// next counts one up.
func (n *numbers) next() {
	for i := recordLen - 3; i >= 0; i-- {
		if n.record[i]++; n.record[i] <= '9' {
			return
		}
		n.record[i] = '0'
	}
}

// playNumbers writes so many records.
func playNumbers(count string) error {
	left, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	var buf []byte
	for n := newNumbers(0); left > 0; n.next() {
		buf = append(buf, n.record[:recordLen-2]...)
		buf = append(buf, '\n') // the terminal makes two characters of it
		if left--; len(buf) > 32<<10 || left == 0 {
			if _, err := os.Stdout.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return nil
}
