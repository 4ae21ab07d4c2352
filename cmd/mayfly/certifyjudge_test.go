package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/conformance/specimen"
)

// scriptCommands are those of scripts besides the usual ones.
//
//	specimen DIR [CHECK...]    a capture of a sound run of the whole catalogue, in which the checks failed
//	keys NAME SEED             an ed25519 key pair, NAME.pem and NAME.pub
//	mcpclient HOME TOKEN OUT   lists the tools of an agent and calls its echo, and writes down both
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"specimen": writeSpecimen, "keys": writeKeys, "mcpclient": useGateway}
}

func writeSpecimen(ts *testscript.TestScript, _ bool, args []string) {
	file := specimen.Capture()
	for _, id := range args[1:] {
		file = specimen.Fail(file, id)
	}
	dir := ts.MkAbs(args[0])
	ts.Check(conformance.CheckReportDir(dir))
	ts.Check(conformance.Replace(dir, conformance.CaptureFile, file))
}

func writeKeys(ts *testscript.TestScript, _ bool, args []string) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte(args[1][:1]), ed25519.SeedSize))
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	ts.Check(err)
	for name, block := range map[string]*pem.Block{".pem": {Type: "PRIVATE KEY", Bytes: private}, ".pub": {Type: "PUBLIC KEY", Bytes: public}} {
		ts.Check(conformance.Replace(ts.MkAbs("."), args[0]+name, pem.EncodeToMemory(block)))
	}
}

// TestRerun: a reader can run a check again, and learns no secret.
func TestRerun(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "mayfly certify"},
		{[]string{"-check", "x", "-key", "k", "-json"}, "mayfly certify"},
		{[]string{"-still"}, "mayfly certify -still=true"},
		{[]string{"-target", "exec:d -home {home}", "-config", "c.toml"}, "mayfly certify -config c.toml -target 'exec:d -home {home}'"},
		{[]string{"-target", "exec:HOME={home} TOKEN=abc K='a b' d --x=y it's"}, `mayfly certify -target 'exec:HOME={home} TOKEN=*** K=*** d --x=y it'\''s'`},
	} {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		for _, name := range []string{"check", "key", "target", "config"} {
			fs.String(name, "", "")
		}
		fs.Bool("json", false, "")
		fs.Bool("still", false, "")
		if err := fs.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if got := rerun(fs); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.args, got, tt.want)
		}
	}
}
