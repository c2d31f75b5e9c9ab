// Package suite measures termio and its peers: it knows each figure, runs the rounds,
// and writes down what came out.
//
// In each round every program has its turn once, in random order, in a fresh session;
// before a turn the suite waits for a quiet machine, and a turn that others have
// disturbed is kept in the record and left out of the figures. Only readings of one
// round are divided by each other. A figure whose definition is unclear is read in the
// function that measures it, named after it.
//
// A Suite belongs to one goroutine.
package suite

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"termio/bench/internal/kid"
	"termio/bench/internal/machine"
	"termio/bench/internal/payload"
	"termio/bench/internal/peer"
)

// Options say what is measured, and how patiently.
type Options struct {
	Quick    bool          // fewer rounds, shorter trials, no crowds
	Rounds   int           // 0 is what the mode has
	Only     []string      // figures or beginnings of their names; none is all
	Foreign  float64       // cores that others may use at a turn's beginning
	Patience time.Duration // how long a turn waits for that, and a tenth of how long all together do
	Within   time.Duration // groups that begin later than this are left out; 0 is no bound
	Termio   string        // path of the program measured
	Bench    string        // path of this program
	Bare     string        // path of the Go program that does nothing
	Post     string        // path of the Go program that posts a hook's event
	Log      io.Writer     // progress
}

// disturbed is how many cores others may use during a turn; past it, its readings are
// left out. It follows the gate, which can be opened on a machine that is never quiet.
func (o Options) disturbed() float64 { return o.Foreign + 0.1 }

// A Sample is one reading.
type Sample struct {
	Figure  string  `json:"figure"`
	Who     string  `json:"who"`
	Round   int     `json:"round"`
	Value   float64 `json:"value"`
	Foreign float64 `json:"foreign"`         // cores that others used meanwhile
	Noisy   bool    `json:"noisy,omitempty"` // so many that the reading is left out
}

// A Suite is one run.
type Suite struct {
	Options
	Samples  []Sample
	Failures []string // turns that came to nothing
	Wrong    []string // screens that are not as they should be, processes that were left
	Missing  []string // peers that are not installed
	Versions map[string]string

	world  *peer.World
	kids   *kid.Listener
	watch  *machine.Watcher
	termio *peer.Termio
	tmux   peer.Tmux // nil if it is not installed
	peers  []peer.Peer
	random *rand.Rand
	names  int
	// reported is the state that the session of the events reported last.
	reported string
	over     <-chan struct{}   // closed when the run is interrupted
	waited   time.Duration     // for a quiet machine
	loads    map[string]string // files of the payloads
}

// A group is figures that are measured together.
type group struct {
	figures []string // the beginnings of their names
	run     func(*Suite) error
	crowd   bool // takes a thousand sessions, or minutes: not in a quick run unless asked for
}

func groups() []group {
	return []group{
		{[]string{"L3"}, (*Suite).start, false},
		{[]string{"H1"}, (*Suite).hook, false},
		{[]string{"V1", "V2", "V3"}, (*Suite).events, false},
		{[]string{"D1", "D2", "D3", "D4", "D6"}, (*Suite).drains, false},
		{[]string{"D5"}, (*Suite).attachedDrains, false},
		{[]string{"E1"}, (*Suite).echoIdle, false},
		{[]string{"E2"}, (*Suite).echoChatter, true},
		{[]string{"E3"}, (*Suite).echoFlood, false},
		{[]string{"A1", "A2", "A3"}, (*Suite).attach, false},
		{[]string{"C1", "C2"}, (*Suite).create, false},
		{[]string{"C3"}, (*Suite).createCold, false},
		{[]string{"M2"}, (*Suite).history, true},
		{[]string{"L1", "L2", "M1", "M3", "C4"}, (*Suite).crowd, false},
	}
}

// wanted reports whether a figure, or one of that beginning, is to be measured.
func (s *Suite) wanted(figures ...string) bool {
	if len(s.Only) == 0 {
		return true
	}
	return slices.ContainsFunc(figures, func(f string) bool {
		return slices.ContainsFunc(s.Only, func(only string) bool { return strings.HasPrefix(f, only) || strings.HasPrefix(only, f) })
	})
}

// Run measures everything that is wanted. Figures whose turns fail are noted as
// failures; the error is one that ends the whole run. Nothing of it is left behind.
func Run(ctx context.Context, o Options) (s *Suite, err error) {
	dir, err := os.MkdirTemp("", "tb")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s = &Suite{Options: o, random: rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano()))), loads: map[string]string{}}
	if s.world, err = peer.NewWorld(dir, o.Termio, o.Bench); err != nil {
		return nil, err
	}
	// Whatever happened: what is left is ended, and named.
	defer func() {
		for _, name := range s.world.Sweep() {
			s.Wrong = append(s.Wrong, "left running: "+name)
		}
	}()
	if s.kids, err = kid.Listen(s.world.KidSocket()); err != nil {
		return nil, err
	}
	defer s.kids.Close()
	if err := s.findPeers(); err != nil {
		return nil, err
	}
	if err := s.makePayloads(); err != nil {
		return nil, err
	}
	s.watch = machine.NewWatcher(s.world.Mark())
	began := time.Now()
	for _, g := range groups() {
		switch {
		case ctx.Err() != nil:
			return s, ctx.Err()
		case !s.wanted(g.figures...), g.crowd && s.Quick && len(s.Only) == 0:
			continue
		case s.Within > 0 && time.Since(began) > s.Within:
			s.fail("%s: left out: the time is up", strings.Join(g.figures, " "))
			continue
		}
		fmt.Fprintf(s.Log, "%s %s\n", time.Now().Format(time.TimeOnly), strings.Join(g.figures, " "))
		if err := s.measure(ctx, g); err != nil {
			s.fail("%s: %v", strings.Join(g.figures, " "), err)
		}
	}
	return s, nil
}

// measure runs a group with servers of its own.
func (s *Suite) measure(ctx context.Context, g group) error {
	var started []peer.Peer
	defer func() {
		for _, p := range started {
			if err := p.Stop(); err != nil && !gone(err) {
				s.fail("stop %s: %v", p.Name(), err)
			}
		}
		s.world.Sweep() // the sessions of peers that have no server to be stopped
	}()
	for _, p := range s.peers {
		if err := p.Start(); err != nil {
			return fmt.Errorf("start %s: %w", p.Name(), err)
		}
		started = append(started, p)
	}
	// An interrupt takes the sessions away from under the group, which then ends.
	stop := context.AfterFunc(ctx, func() {
		s.kids.Close()
		s.world.Sweep()
	})
	defer stop()
	s.over = ctx.Done()
	return g.run(s)
}

// fail notes a failure.
func (s *Suite) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.Failures = append(s.Failures, text)
	fmt.Fprintln(s.Log, "  "+text)
}

func (s *Suite) findPeers() error {
	var err error
	if s.termio, err = peer.NewTermio(s.world); err != nil {
		return err
	}
	var found []peer.Peer
	found, s.Versions, s.Missing = peer.Find(s.world)
	for _, p := range found {
		if t, ok := p.(peer.Tmux); ok {
			s.tmux = t
		}
	}
	s.peers = append([]peer.Peer{s.termio}, found...)
	return nil
}

// makePayloads writes the payloads' files, which are then in the page cache.
func (s *Suite) makePayloads() error {
	size := 20 << 20
	if s.Quick {
		size = 4 << 20
	}
	for _, kind := range payload.Kinds {
		data, err := payload.Make(kind, size)
		if err != nil {
			return err
		}
		file := filepath.Join(s.world.Dir, kind)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
		s.loads[kind] = file
	}
	return nil
}

// rounds is how many rounds a group gets, of which full and quick are the defaults.
func (s *Suite) rounds(full, quick int) int {
	if s.Rounds > 0 {
		return s.Rounds
	}
	if s.Quick {
		return quick
	}
	return full
}

// A turn is one program's part of a round. What follows the program's name tells two
// turns of one program apart.
type turn struct {
	who string
	do  func(*readings) error
}

// readings are what a turn has measured, by figure.
type readings struct{ values map[string]float64 }

func (r *readings) set(figure string, v float64) { r.values[figure] = v }

// millis and micros note a time.
func (r *readings) millis(figure string, d time.Duration) { r.set(figure, float64(d)/1e6) }
func (r *readings) micros(figure string, d time.Duration) { r.set(figure, float64(d)/1e3) }

// play plays rounds. The first one warms everything up and is dropped. A turn that
// fails is noted; one that fails in its first two rounds has no more.
func (s *Suite) play(rounds int, turns ...turn) {
	dead := map[string]bool{}
	for round := range rounds + 1 {
		s.random.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		for _, t := range turns {
			select {
			case <-s.over:
				return
			default:
			}
			if dead[t.who] {
				continue
			}
			s.awaitQuiet()
			r := readings{values: map[string]float64{}}
			err := t.do(&r)
			foreign := s.watch.Foreign()
			if err != nil {
				s.fail("%s, round %d: %v", t.who, round, err)
				dead[t.who] = round < 2
				continue
			}
			if round == 0 {
				continue
			}
			who, _, _ := strings.Cut(t.who, " ")
			for figure, v := range r.values {
				s.Samples = append(s.Samples, Sample{figure, who, round, v, foreign, foreign > s.disturbed()})
			}
		}
	}
}

// awaitQuiet waits for a quiet machine, as long as there is patience left.
func (s *Suite) awaitQuiet() {
	began := time.Now()
	s.watch.AwaitQuiet(s.Foreign, min(s.Patience, 10*s.Patience-s.waited))
	s.waited += time.Since(began)
}

// note records a reading that is taken once, outside of rounds.
func (s *Suite) note(figure, who string, v float64) {
	s.Samples = append(s.Samples, Sample{Figure: figure, Who: who, Round: 1, Value: v})
}

// name gives a session's name that no other has had.
func (s *Suite) name() string {
	s.names++
	return fmt.Sprintf("s%d", s.names)
}

// session makes a session with a kid in it at a peer. end ends it.
func (s *Suite) session(p peer.Peer, name string) (k *kid.Kid, end func(), err error) {
	if err := p.Create(name, peer.Kid); err != nil {
		return nil, nil, err
	}
	if k, err = s.kids.Accept(); err != nil {
		return nil, nil, err
	}
	return k, func() {
		k.Close()
		if err := p.Close(name); err != nil && !gone(err) {
			s.fail("%s: close: %v", p.Name(), err)
		}
	}, nil
}

// withKid makes a session, has f use it, and ends it.
func (s *Suite) withKid(p peer.Peer, f func(name string, k *kid.Kid) error) error {
	name := s.name()
	k, end, err := s.session(p, name)
	if err != nil {
		return err
	}
	defer end()
	return f(name, k)
}

// gone reports whether a session could not be closed because it has ended: its kid had
// been hung up on.
func gone(err error) bool {
	for _, text := range []string{"can't find session", "no current target", "No screen session found", "no server running", "session_closed", "no session", "has ended", "closed"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// attached shows a session on a terminal of the right size.
func attached(p peer.Peer, name string, k *kid.Kid) (*peer.Terminal, error) {
	t, err := peer.Open(p.Attach(name))
	if err != nil {
		return nil, err
	}
	stop := t.Drain()
	_, err = k.Do(kid.Order{Do: kid.Await, Cols: peer.Cols, Rows: peer.Rows})
	stop()
	if err == nil {
		err = t.Quiet(100 * time.Millisecond)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// fit gives a session its size: a client shows it once.
func fit(p peer.Peer, name string, k *kid.Kid) error {
	t, err := attached(p, name, k)
	if err != nil {
		return err
	}
	t.Close()
	return nil
}

// middle is the median of times.
func middle(all []time.Duration) time.Duration {
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(a, b) })
	return all[len(all)/2]
}

// nearly is the time that 99 of a hundred stay under.
func nearly(all []time.Duration) time.Duration {
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(a, b) })
	return all[len(all)*99/100]
}
