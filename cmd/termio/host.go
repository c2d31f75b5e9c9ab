package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"termio/internal/config"
	"termio/internal/host"
	"termio/internal/keeper"
	"termio/internal/server"
)

// closePatience is how long a host that ends lets requests finish.
const closePatience = 5 * time.Second

// runHost is the daemon's second process, which the keeper starts. It ends when the
// daemon was stopped, or, leaving the sessions to the next host, on a signal.
func runHost(ctx context.Context, env config.Env) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// With one processor a session that floods would hold up every other one for
	// whole time slices.
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", "host")
	conn, err := keeper.Connect(keeper.ControlFD)
	if err != nil {
		return err
	}
	defer conn.Close()
	h, err := host.Open(host.Config{Env: env, Keeper: conn, Log: log})
	if err != nil {
		return refuse(ctx, err, conn, log)
	}
	defer h.Close()
	return serve(ctx, server.New(h, log), h.Stopped(), conn, log)
}

// refusal is how long a host that could not be opened tells callers why, before the
// keeper starts the next one, which tries again.
const refusal = 10 * time.Second

// refuse answers callers with what is wrong, for a while. Its own error is why.
func refuse(ctx context.Context, why error, conn *keeper.Conn, log *slog.Logger) error {
	log.Error("host cannot open", "error", why)
	ctx, cancel := context.WithTimeout(ctx, refusal)
	defer cancel()
	srv := server.NewRefusing(why, conn.StopKeeper, log)
	return errors.Join(why, serve(ctx, srv, conn.Stopping(), conn, log))
}

// serve answers callers until there is a reason to end.
func serve(ctx context.Context, srv *server.Server, stopped <-chan struct{}, conn *keeper.Conn, log *slog.Logger) error {
	ln, err := conn.Listener()
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err = <-served:
	case <-stopped:
		log.Info("host ends: the daemon was stopped")
	case <-ctx.Done():
		log.Info("host ends; sessions live on")
	}
	end, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	return errors.Join(err, srv.Close(end))
}
