package core_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// peerMode is the variable that makes the test binary a peer.
const peerMode = "MAYFLY_CORE_PEER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(peerMode); mode != "" {
		os.Exit(runPeer(mode))
	}
	os.Exit(m.Run())
}

// runPeer is a server with a vice. It obeys the end of its input.
func runPeer(mode string) int {
	switch mode {
	case "launcher": // the server is its child
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), peerMode+"=server")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if cmd.Run() != nil {
			return 1
		}
		return 0
	case "family": // the server, beside a child that holds its output open
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), peerMode+"=sleeper")
		cmd.Stdout = os.Stdout
		if cmd.Start() != nil {
			return 1
		}
	case "sleeper":
		select {}
	case "noisy":
		line := strings.Repeat("noise ", 200) + "\n"
		for range 2000 {
			io.WriteString(os.Stderr, line)
			io.WriteString(os.Stdout, line)
		}
	}
	return serve(mode)
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func serve(mode string) int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var r request
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, resultOf(mode, r.Method))
		if r.Method == "tools/list" {
			vice(mode)
		}
	}
}

// vice is what a server does once it is connected.
func vice(mode string) {
	switch mode {
	case "half-closed":
		os.Stdout.Close()
	case "deaf":
		select {}
	}
}

func resultOf(mode, method string) string {
	switch method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}}`
	case "tools/list":
		return `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		text := "answer"
		if mode == "huge" {
			text = strings.Repeat("x", 64<<20)
		}
		return `{"content":[{"type":"text","text":"` + text + `"}]}`
	}
	return `{}`
}
