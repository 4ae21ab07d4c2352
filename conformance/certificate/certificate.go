package certificate

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance"
)

const (
	// Schema is the version of a certificate. It changes with any of its fields, since all of
	// them are signed.
	Schema = 1
	// File is the name of a certificate in a report directory.
	File = "certificate.json"
)

// signedAs keeps a signature from being taken for one over something else.
const signedAs = "mayfly certificate 1\n"

// Certificate is what the signer vouches for.
type Certificate struct {
	Schema    int                    `json:"certificate"`
	Suite     string                 `json:"suite"`
	Catalogue string                 `json:"catalogue"`
	Target    conformance.TargetInfo `json:"target"`
	Started   time.Time              `json:"started"`
	Outcome   conformance.Verdict    `json:"outcome"`
	Noise     conformance.Noise      `json:"noise"`
	Verdicts  []Verdict              `json:"verdicts"`
	Capture   Capture                `json:"capture"`
	Key       string                 `json:"key"`       // of the signer, in base64
	Signature string                 `json:"signature"` // over all of the above
}

// Verdict is that on one check.
type Verdict struct {
	Check   string              `json:"check"`
	Level   conformance.Level   `json:"level"`
	Verdict conformance.Verdict `json:"verdict"`
}

// Capture names the file that the certificate rests on.
type Capture struct {
	File   string `json:"file"` // beside the certificate
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
}

// Make certifies what a capture bears out, whatever the outcome is. A capture that does not
// cover the catalogue certifies nothing.
func Make(c *conformance.Capture, key ed25519.PrivateKey) (*Certificate, error) {
	if c == nil {
		return nil, errors.New("this run cannot be certified: it has no capture that can be judged")
	}
	if err := c.Covers(); err != nil {
		return nil, fmt.Errorf("this run cannot be certified: %w", err)
	}
	made := of(c)
	made.Key = encodeKey(key)
	message, err := made.message()
	if err != nil {
		return nil, err
	}
	made.Signature = b64(ed25519.Sign(key, message))
	return made, nil
}

// of is the certificate that a capture deserves, without key and signature.
func of(c *conformance.Capture) *Certificate {
	r := c.Report()
	made := &Certificate{
		Schema: Schema, Suite: r.Suite, Catalogue: c.Catalogue(), Target: c.Target(), Started: r.Started,
		Outcome: r.Outcome(), Noise: r.Noise,
		Capture: Capture{File: conformance.CaptureFile, Digest: c.Digest(), Bytes: c.Size()},
	}
	for _, x := range r.Checks {
		made.Verdicts = append(made.Verdicts, Verdict{x.ID, x.Level, x.Verdict})
	}
	return made
}

// message is what is signed: everything but the signature.
func (c *Certificate) message() ([]byte, error) {
	unsigned := *c
	unsigned.Signature = ""
	text, err := unsigned.encode()
	return append([]byte(signedAs), text...), err
}

// encode is the one form of a certificate.
func (c *Certificate) encode() ([]byte, error) {
	text, err := json.MarshalIndent(c, "", "  ")
	return append(text, '\n'), err
}

// Save writes the certificate into the report directory in which the capture is.
func (c *Certificate) Save(dir string) error {
	text, err := c.encode()
	if err != nil {
		return err
	}
	return conformance.Replace(dir, File, text)
}

// parse reads a certificate that is in its one form.
func parse(text []byte) (*Certificate, error) {
	var version struct {
		Schema int    `json:"certificate"`
		Suite  string `json:"suite"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("it is no certificate, or cut off: %w", err)
	}
	switch {
	case version.Schema != Schema:
		return nil, fmt.Errorf("it has schema %d, and this mayfly verifies schema %d; use the mayfly that made it", version.Schema, Schema)
	case version.Suite != conformance.Suite:
		return nil, fmt.Errorf("it was made by suite %q, and this is suite %q, whose verdicts do not compare; use the mayfly that made it",
			version.Suite, conformance.Suite)
	}
	var c Certificate
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return nil, not("it holds what no certificate does: %v", err)
	}
	if again, err := c.encode(); err != nil || !bytes.Equal(again, text) {
		return nil, not("it is not in the form in which it was written, although it may say the same")
	}
	return &c, nil
}
