// Command post is the plain way to write a hook in Go: it reads the event on standard
// input, and posts it as JSON to termio's socket with the standard library's net and
// encoding/json. The suite measures `termio agent report` beside it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

func main() {
	if err := post(); err != nil {
		fmt.Fprintln(os.Stderr, "post:", err)
		os.Exit(1)
	}
}

func post() error {
	event, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	body, err := json.Marshal(json.RawMessage(event))
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", os.Getenv("TERMIO_HOME")+"/run/termio.sock")
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(conn, "POST /v1/reports?state=working&event=PreToolUse HTTP/1.1\r\nHost: termio\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nTermio-Session: %s\r\nContent-Length: %d\r\n\r\n%s", os.Getenv("TERMIO_SESSION"), len(body), body)
	if err != nil {
		return err
	}
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.Contains(status, " 204 ") {
		return fmt.Errorf("the daemon answers %q", status)
	}
	return nil
}
