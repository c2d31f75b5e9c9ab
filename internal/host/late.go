package host

import (
	"errors"
	"maps"
	"sync"
	"syscall"

	"termio/internal/api"
	"termio/internal/store"
)

// lateClosings are the ends of sessions that could not be stored, such as on a full
// disk. A session that has ended has ended: they stand in lists as any other, and are
// stored as soon as that works again.
type lateClosings struct {
	mu  sync.Mutex
	all map[api.SessionID]lateClosing
}

type lateClosing struct {
	closing store.Closing
	event   api.Event
}

func (l *lateClosings) add(id api.SessionID, c store.Closing, e api.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[api.SessionID]lateClosing{}
	}
	l.all[id] = lateClosing{c, e}
}

func (l *lateClosings) remove(id api.SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, id)
}

func (l *lateClosings) now() map[api.SessionID]lateClosing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.all)
}

// storeLate stores the ends that could not be stored before. It is called whenever
// somebody asks for sessions that have ended and when one ends: there is nothing to do
// as a rule, and nothing waits for it.
func (h *Host) storeLate() {
	for id, l := range h.late.now() {
		err := h.bus.record(&l.event, func(e *api.Event) error { return h.store.CloseSession(id, l.closing, e) })
		if err != nil {
			h.log.Debug("an end is still not stored", "session", id.Short(), "error", err)
			return
		}
		h.late.remove(id)
		h.log.Info("end stored late", "session", id.Short())
	}
}

// records are the sessions that the store knows, with the ends that it does not know yet.
func (h *Host) records(f store.Filter) ([]store.Session, error) {
	h.storeLate()
	all, err := h.store.Sessions(f)
	if err != nil {
		return nil, err
	}
	late := h.late.now()
	for i := range all {
		if l, ok := late[all[i].ID]; ok && !all[i].Closed() {
			all[i].Closing = l.closing
		}
	}
	return all, nil
}

// Unable reports whether an error is the machine's and no defect of ours: a full or
// read-only disk, a database that another program holds or that is damaged.
func Unable(err error) bool {
	for _, cause := range []error{
		store.ErrFull, store.ErrBusy, store.ErrDamaged, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}
