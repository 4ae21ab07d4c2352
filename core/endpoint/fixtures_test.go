package endpoint_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/registry"
)

// The fixtures that the official server suite asks for by name.

// toolBody is what a fixture does.
type toolBody func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// pixel is a picture, and silence a sound, both as small as they can be.
var (
	pixel   = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==")
	silence = decoded("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")
)

func decoded(s string) []byte {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return data
}

func words(s string) mcp.Content { return &mcp.TextContent{Text: s} }

func embedded(uri, mime, text string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mime, Text: text}}
}

// showing is a tool that always gives the same.
func showing(content ...mcp.Content) toolBody {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: content}, nil
	}
}

var fixtures = map[string]toolBody{
	"test_simple_text":       showing(words("This is a simple text response for testing.")),
	"test_image_content":     showing(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}),
	"test_audio_content":     showing(&mcp.AudioContent{Data: silence, MIMEType: "audio/wav"}),
	"test_embedded_resource": showing(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
	"test_multiple_content_types": showing(words("Multiple content types test:"), &mcp.ImageContent{Data: pixel, MIMEType: "image/png"},
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
	"test_error_handling": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("This tool intentionally returns an error for testing")
	},
	"test_tool_with_logging":            logging,
	"test_tool_with_progress":           progressing,
	"test_sampling":                     sampling,
	"test_elicitation":                  asking(`{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}`, "username", "email"),
	"test_elicitation_sep1034_defaults": asking(elicitDefaults),
	"test_elicitation_sep1330_enums":    asking(elicitEnums),
	"test_reconnection":                 reconnecting,
	"json_schema_2020_12_tool":          showing(words("valid")),
}

// schemas are the inputs of the fixtures that have some.
var schemas = map[string]string{
	"test_sampling":    `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`,
	"test_elicitation": `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
	"json_schema_2020_12_tool": `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`,
}

const (
	elicitDefaults = `{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","default":true}}`
	elicitEnums = `{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"}]}}}`
)

func logging(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		//lint:ignore SA1019 the suite asks for it, which speaks versions that have it
		if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
			return nil, err
		}
	}
	return showing(words("logged"))(ctx, r)
}

func progressing(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for _, n := range []float64{0, 50, 100} {
		if token := r.Params.GetProgressToken(); token != nil {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Total: 100}); err != nil {
				return nil, err
			}
		}
	}
	return showing(words("done"))(ctx, r)
}

func sampling(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct{ Prompt string }
	if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
		return nil, err
	}
	//lint:ignore SA1019 the suite asks for it, which speaks versions that have it
	res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: words(args.Prompt)}}})
	if err != nil {
		return nil, err
	}
	said, ok := res.Content.(*mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("the model answered with a %T", res.Content)
	}
	return showing(words("LLM response: "+said.Text))(ctx, r)
}

// asking is a tool that asks its user for properties.
func asking(properties string, required ...string) toolBody {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		schema := map[string]any{"type": "object", "properties": json.RawMessage(properties)}
		if required != nil {
			schema["required"] = required
		}
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Please answer", RequestedSchema: schema})
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(res.Content)
		if err != nil {
			return nil, err
		}
		return showing(words(fmt.Sprintf("User response: action=%s, content=%s", res.Action, content)))(ctx, r)
	}
}

// reconnecting ends the stream of its call before it answers, as one that takes long would.
func reconnecting(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r.Extra != nil && r.Extra.CloseSSEStream != nil {
		r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{})
	}
	return showing(words("Reconnection test completed successfully"))(ctx, r)
}

// addFixtures registers all of them.
func addFixtures(t *testing.T, s *endpoint.Set, o *owner.Owner) {
	t.Helper()
	for name, body := range fixtures { // in any order: each is apart
		tool := &mcp.Tool{Name: name, Description: "A fixture of the official server suite."}
		if schema := schemas[name]; schema != "" {
			tool.InputSchema = json.RawMessage(schema)
		}
		add(t, s, o, endpoint.Tool{Tool: tool, Plan: registry.Public(), Body: registry.Body[*mcp.CallToolRequest, *mcp.CallToolResult](body)})
	}
	for uri, mime := range map[string]string{"test://static-text": "text/plain", "test://static-binary": "image/png", "test://watched-resource": "text/plain"} {
		ready(t, func() (*endpoint.ResourceEntry, error) {
			return s.AddResource(o.Token, endpoint.Resource{Resource: &mcp.Resource{URI: uri, Description: "A fixture.", MIMEType: mime}, Plan: registry.Public(), Body: reading})
		})
	}
	ready(t, func() (*endpoint.ResourceEntry, error) {
		return s.AddTemplate(o.Token, endpoint.Template{ResourceTemplate: &mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", MIMEType: "application/json"}, Plan: registry.Public(), Body: reading})
	})
}

func ready(t *testing.T, add func() (*endpoint.ResourceEntry, error)) {
	t.Helper()
	e, err := add()
	if err == nil {
		err = e.Ready()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func reading(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	c := &mcp.ResourceContents{Text: "This is the content of the static text resource."}
	if strings.HasSuffix(r.Params.URI, "binary") {
		c = &mcp.ResourceContents{Blob: pixel}
	} else if rest, ok := strings.CutPrefix(r.Params.URI, "test://template/"); ok {
		id := strings.TrimSuffix(rest, "/data")
		c.Text = fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
}
