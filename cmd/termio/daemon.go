package main

import (
	"context"
	"log/slog"
	"os"

	"termio/internal/config"
	"termio/internal/keeper"
)

// runKeeper is the daemon's first process. It starts the second from bin/termio
// each time, so that a program installed there meanwhile takes over.
func runKeeper(ctx context.Context, env config.Env) error {
	cfg := keeper.Config{
		Socket:   env.Socket,
		LockFile: env.LockFile,
		HostPath: env.StableExe,
		HostArgs: []string{"daemon", "host"},
		HostEnv:  env.Environ,
		Log:      slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", "keeper"),
	}
	// The settings' own errors are the host's to tell, which reads them as well.
	if s, err := config.LoadSettings(env.SettingsFile); err == nil {
		cfg.Grace = config.ValuesOf(s).CloseGrace
	}
	if env.ReadyFD >= 0 {
		cfg.Ready = os.NewFile(uintptr(env.ReadyFD), "ready")
	}
	return keeper.Run(ctx, cfg)
}
