module github.com/mayfly-mcp/mayfly

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
