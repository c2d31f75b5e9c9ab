package notify

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/godbus/dbus/v5"

	"termio/internal/api"
	"termio/internal/config"
)

// Desktop is this machine's desktop, through the notification service of the
// session bus. It connects on the first notification, and again after the bus went away;
// without a bus it is silent.
func Desktop(env config.Env) Channel { return &bus{env: env, shown: map[string]uint32{}} }

const (
	busName  = "org.freedesktop.Notifications"
	busPath  = "/org/freedesktop/Notifications"
	maxShown = 256 // sessions whose last notification is remembered, to be replaced by the next one
)

// bus belongs to the Notifier's one worker for it.
type bus struct {
	env    config.Env
	conn   *dbus.Conn
	markup bool // the service reads bodies as markup
	shown  map[string]uint32
}

func (b *bus) Name() string { return "desktop" }

func (b *bus) Ready() bool {
	_, found := b.address()
	return found
}

// Send shows a notification in place of the session's previous one. A
// connection that has served before may be to a bus that went away: it is made
// anew once.
func (b *bus) Send(ctx context.Context, n Notification) error {
	for fresh := b.conn == nil; ; fresh = true {
		if b.conn == nil {
			address, found := b.address()
			if !found {
				return nil
			}
			if err := b.connect(ctx, address); err != nil {
				return err
			}
		}
		err := b.show(ctx, n)
		if err == nil {
			return nil
		}
		b.drop()
		if e, ok := errors.AsType[dbus.Error](err); ok && e.Name == "org.freedesktop.DBus.Error.ServiceUnknown" {
			return nil // a bus, but no desktop on it
		}
		if fresh || ctx.Err() != nil {
			return fmt.Errorf("show a desktop notification: %w", err)
		}
	}
}

// show calls the service.
func (b *bus) show(ctx context.Context, n Notification) error {
	body := n.Body
	if b.markup {
		body = html.EscapeString(body)
	}
	urgency := byte(1)
	if n.Reason == api.Done {
		urgency = 0
	}
	hints := map[string]dbus.Variant{
		"urgency":       dbus.MakeVariant(urgency),
		"desktop-entry": dbus.MakeVariant("termio"),
	}
	var id uint32
	err := b.conn.Object(busName, busPath).CallWithContext(ctx, busName+".Notify", 0,
		"termio", b.shown[n.Link], "", n.Title, body, []string{}, hints, int32(-1)).Store(&id)
	if err != nil || n.Link == "" {
		return err
	}
	if len(b.shown) == maxShown {
		clear(b.shown)
	}
	b.shown[n.Link] = id
	return nil
}

// address is where the session bus listens; not found on a machine without one.
// It is looked up here because the library would start a bus of its own.
func (b *bus) address() (address string, found bool) {
	if address := b.env.Get("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return address, true
	}
	runtime := b.env.Get("XDG_RUNTIME_DIR")
	if runtime == "" {
		runtime = "/run/user/" + strconv.Itoa(os.Geteuid())
	}
	socket := filepath.Join(runtime, "bus")
	if _, err := os.Stat(socket); err != nil {
		return "", false
	}
	return "unix:path=" + dbus.EscapeBusAddressValue(socket), true
}

// connect greets the bus and asks the desktop what it can do.
func (b *bus) connect(ctx context.Context, address string) error {
	conn, err := dbus.Dial(address)
	if err == nil {
		// The library waits for a greeting for ever.
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		if err = conn.Auth(nil); err == nil {
			err = conn.Hello()
		}
		if !stop() {
			err = ctx.Err()
		}
		if err != nil {
			_ = conn.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("connect to the session bus at %s: %w", address, err)
	}
	b.conn = conn
	var can []string
	if err := conn.Object(busName, busPath).CallWithContext(ctx, busName+".GetCapabilities", 0).Store(&can); err != nil {
		b.markup = true // where it is none after all, entities show
		return nil
	}
	b.markup = slices.Contains(can, "body-markup")
	return nil
}

// drop ends a connection that is of no use any more.
func (b *bus) drop() {
	_ = b.conn.Close()
	b.conn = nil
	clear(b.shown)
}

func (b *bus) Close() error {
	if b.conn == nil {
		return nil
	}
	return b.conn.Close()
}
