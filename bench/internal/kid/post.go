package kid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"

	"termio/bench/internal/machine"
)

// A poster is a child that posts reports to the termio daemon, as often as it is told,
// without a process being started for each. It is a child because a report counts as an
// agent's hook only if it comes from below the agent.
type poster struct {
	cmd *exec.Cmd
	enc *json.Encoder
	dec *json.Decoder
}

// post has a report of a state posted.
func (w *worker) post(state string) (Answer, error) {
	if w.poster == nil {
		p, err := startPoster()
		if err != nil {
			return Answer{}, err
		}
		w.poster = p
	}
	var a Answer
	if err := w.poster.enc.Encode(state); err != nil {
		return a, err
	}
	err := w.poster.dec.Decode(&a)
	return a, err
}

func startPoster() (*poster, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &poster{cmd: exec.Command(exe, "kid", "post")}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.enc, p.dec = json.NewEncoder(in), json.NewDecoder(out)
	return p, p.cmd.Start()
}

// RunPoster is the child: it posts the states that it reads until its input ends.
func RunPoster(environ []string, in io.Reader, out io.Writer) error {
	k := Kid{Answer: Answer{Env: environ}}
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var state string
		if dec.Decode(&state) != nil {
			return nil // the kid has ended
		}
		a, err := report(&k, state)
		if err != nil {
			a.Error = err.Error()
		}
		if err := enc.Encode(a); err != nil {
			return nil
		}
	}
}

// report posts one report and tells when it was on its way, and when it was answered.
func report(k *Kid, state string) (Answer, error) {
	request := "POST /v1/reports?state=" + state + "&event=" + state + " HTTP/1.1\r\nHost: termio\r\nConnection: close\r\n" +
		"Termio-Session: " + k.Var("TERMIO_SESSION") + "\r\nContent-Length: " + strconv.Itoa(len("{}")) + "\r\n\r\n{}"
	conn, err := net.Dial("unix", k.Var("TERMIO_HOME")+"/run/termio.sock")
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	began := machine.Now()
	if _, err := io.WriteString(conn, request); err != nil {
		return Answer{}, err
	}
	reply, err := io.ReadAll(conn)
	if err == nil && !bytes.HasPrefix(reply, []byte("HTTP/1.1 204 ")) {
		err = fmt.Errorf("the daemon answers a report with %q", reply)
	}
	return Answer{Began: began, Ended: machine.Now()}, err
}
