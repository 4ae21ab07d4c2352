package certificate

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mayfly-mcp/mayfly/conformance"
)

// maxFile bounds a certificate, in bytes.
const maxFile = 4 << 20

// ErrNotGenuine marks what Verify finds out, apart from what keeps it from looking.
var ErrNotGenuine = errors.New("not genuine")

func not(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNotGenuine, fmt.Sprintf(format, args...))
}

// Options say what a certificate is held against besides itself.
type Options struct {
	Public ed25519.PublicKey // of the expected signer; nil: whoever it was
	Binary string            // file of the program that is said to be certified; empty: none
}

// Verify reads a certificate and the capture beside it, and holds them against each other,
// against the catalogue of this suite and against the options. The certificate is returned
// when it is genuine, whatever its outcome is. Errors that are no ErrNotGenuine say why nothing
// can be known: a file is missing, or of another version.
func Verify(path string, o Options) (*Certificate, error) {
	c, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, step := range []func() error{
		func() error { return c.signed(o.Public) },
		func() error { return c.borneOut(filepath.Dir(path)) },
		func() error { return c.concerns(o.Binary) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return c, nil
}

func read(path string) (*Certificate, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, pathless(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, pathless(err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("it has more than %d bytes and is no certificate", maxFile)
	}
	return parse(text)
}

// pathless is an error of a file without its path, which the caller says.
func pathless(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// signed holds the signature against the key.
func (c *Certificate) signed(by ed25519.PublicKey) error {
	key, err := decodeKey(c.Key)
	if err != nil {
		return not("%v", err)
	}
	if by != nil && !by.Equal(key) {
		return not("it was signed with the key %s, and not with %s", Fingerprint(key), Fingerprint(by))
	}
	signature, err := base64.StdEncoding.DecodeString(c.Signature)
	if err != nil {
		return not("its signature is none")
	}
	message, err := c.message()
	if err != nil {
		return err
	}
	if !ed25519.Verify(key, message, signature) {
		return not("its signature does not fit: something was changed after it was signed, or it was signed with another key")
	}
	return nil
}

// borneOut judges the capture again and compares.
func (c *Certificate) borneOut(dir string) error {
	if c.Capture.File != conformance.CaptureFile {
		return not("its capture is called %q; it is to be %s beside it", c.Capture.File, conformance.CaptureFile)
	}
	path := filepath.Join(dir, conformance.CaptureFile)
	digest, err := conformance.FileDigest(path)
	switch {
	case err != nil:
		return fmt.Errorf("the capture that it rests on cannot be read: %w; copy both files", err)
	case digest != c.Capture.Digest:
		return not("the capture beside it is another one than was signed: it was changed, or a later run has replaced it")
	}
	capture, err := conformance.ReadCapture(path)
	if err != nil {
		return not("%v", err)
	}
	if err := capture.Covers(); err != nil {
		return not("it is not complete: %v", err)
	}
	return c.compare(of(capture))
}

// compare holds a certificate against the one that its capture deserves.
func (c *Certificate) compare(due *Certificate) error {
	switch {
	case c.Capture != due.Capture:
		return not("it says that the capture has %d bytes, which has %d", c.Capture.Bytes, due.Capture.Bytes)
	case c.Catalogue != due.Catalogue:
		return not("it names the catalogue %s, and was run with %s", c.Catalogue, due.Catalogue)
	case c.Target != due.Target:
		return not("it names the target %s, and the capture is of %s", describe(c.Target), describe(due.Target))
	case !c.Started.Equal(due.Started):
		return not("it says that the run began at %v, and it began at %v", c.Started, due.Started)
	case c.Noise != due.Noise:
		return not("its noise is %+v, and the capture's is %+v", c.Noise, due.Noise)
	case len(c.Verdicts) != len(due.Verdicts):
		return not("it has %d verdicts, and the capture gives %d", len(c.Verdicts), len(due.Verdicts))
	}
	for i, v := range c.Verdicts {
		if v != due.Verdicts[i] {
			return not("it says that %s (%s) is %s; judged again, %s (%s) is %s",
				v.Check, v.Level, v.Verdict, due.Verdicts[i].Check, due.Verdicts[i].Level, due.Verdicts[i].Verdict)
		}
	}
	if c.Outcome != due.Outcome {
		return not("its outcome is %s, and its verdicts come to %s", c.Outcome, due.Outcome)
	}
	return nil
}

// concerns holds the digest of the program against a file.
func (c *Certificate) concerns(binary string) error {
	if binary == "" {
		return nil
	}
	digest, err := conformance.FileDigest(binary)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the program: %w", err)
	case c.Target.Digest == "":
		return not("it names no program, so it does not speak of %s", binary)
	case digest != c.Target.Digest:
		return not("it speaks of another program than %s: %s, and not %s", binary, c.Target.Digest, digest)
	}
	return nil
}

func describe(t conformance.TargetInfo) string {
	return fmt.Sprintf("%q (%s %s)", t.Name, t.Program, t.Digest)
}

// Signer is the fingerprint of the key.
func (c *Certificate) Signer() string {
	key, err := decodeKey(c.Key)
	if err != nil {
		return "nobody"
	}
	return Fingerprint(key)
}
