package conformance

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// goServerWord makes a peer's executable a server made with the Go SDK: "peer go-server".
const goServerWord = "go-server"

// GoServer serves one tool, echo, on standard input and output, as servers do that are made with
// the Go SDK. The cold-start check measures it as the class of such servers.
func GoServer(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	type said struct {
		Text string `json:"text"`
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "mayfly-go-server", Version: Suite}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Answers with the text."},
		func(_ context.Context, _ *sdk.CallToolRequest, in said) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
		})
	return s.Run(ctx, &sdk.StdioTransport{})
}

// runIfGoServer is the part of RunIfPeer for that server.
func runIfGoServer() {
	if len(os.Args) < 3 || os.Args[1] != "peer" || os.Args[2] != goServerWord {
		return
	}
	if err := GoServer(context.Background()); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
