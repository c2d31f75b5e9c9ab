package host

// A lane is where texts wait for each other: one is delivered from its first look at
// the composer to its evidence before the next begins. session.mu guards it. What is sent
// while maxWaiting texts wait is refused; those that an earlier host promised come in.
type lane struct {
	busy    bool
	waiting []chan struct{}
}

// enter takes a place in the lane; the channel is closed when it is the first.
func (l *lane) enter() <-chan struct{} {
	turn := make(chan struct{})
	if l.busy {
		l.waiting = append(l.waiting, turn)
		return turn
	}
	l.busy = true
	close(turn)
	return turn
}

// leaveLane lets the next text go.
func (d *delivery) leaveLane() {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	l := &d.s.lane
	if len(l.waiting) == 0 {
		l.busy = false
		return
	}
	close(l.waiting[0])
	l.waiting = l.waiting[1:]
}
