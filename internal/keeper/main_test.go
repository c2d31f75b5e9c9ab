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
		Grace:           200 * time.Millisecond,
		MaxRestartDelay: 5 * time.Millisecond,
		Log:             slog.New(slog.NewTextHandler(log, nil)),
	}
	if tc.ReadyFD > 0 {
		cfg.Ready = os.NewFile(uintptr(tc.ReadyFD), "ready")
	}
	return Run(context.Background(), cfg)
}

// record is the i-th of the numbered records that a flood is made of: what stands
// at an offset follows from the offset.
func record(i int) []byte { return fmt.Appendf(nil, "%014d\r\n", i) }

const recordLen = 16

// playNumbers writes so many records.
func playNumbers(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	var buf []byte
	for i := range n {
		buf = append(buf, record(i)...)
		if len(buf) > 32<<10 || i == n-1 {
			if _, err := os.Stdout.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return nil
}
