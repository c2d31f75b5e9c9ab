package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
)

// peer is the process at the other end of a connection, as the kernel knows it.
type peer struct {
	uid int
	pid int // 0 if unknown
}

type peerKey struct{}

// peerOf asks the kernel who connected.
func peerOf(c net.Conn) (peer, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return peer{}, fmt.Errorf("%T tells no peer", c)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return peer{}, fmt.Errorf("ask for the peer: %w", err)
	}
	var p peer
	var perr error
	if err := raw.Control(func(fd uintptr) { p, perr = peerOfSocket(int(fd)) }); err != nil {
		perr = errors.Join(perr, err)
	}
	if perr != nil {
		return peer{}, fmt.Errorf("ask for the peer: %w", perr)
	}
	return p, nil
}

// ownListener accepts only connections of the user that runs the daemon. The
// socket's folder already keeps others out; this holds also where somebody has
// opened that folder or passed the socket on.
type ownListener struct {
	net.Listener
	log *slog.Logger
}

// ownConn is a connection whose peer is known.
type ownConn struct {
	*net.UnixConn
	peer peer
}

// Accept gives the next connection of our own user.
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p, err := peerOf(c)
		if err == nil && p.uid != os.Geteuid() {
			err = fmt.Errorf("user %d", p.uid)
		}
		if err != nil {
			l.log.Warn("refused a connection", "reason", err)
			_ = c.Close()
			continue
		}
		return ownConn{c.(*net.UnixConn), p}, nil
	}
}

// withPeer puts the peer into the context of a connection's requests.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if oc, ok := c.(ownConn); ok {
		return context.WithValue(ctx, peerKey{}, oc.peer)
	}
	return ctx
}
