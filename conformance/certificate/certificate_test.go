package certificate

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mayfly-mcp/mayfly/conformance"
	"github.com/mayfly-mcp/mayfly/conformance/specimen"
)

// keyOf makes a key that is always the same.
func keyOf(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

// desk is a directory with a capture and a certificate.
type desk struct {
	t   *testing.T
	dir string
}

func (d desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d desk) write(name string, text []byte) {
	d.t.Helper()
	if err := os.WriteFile(d.path(name), text, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d desk) read(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// swap edits a file in place, and sees to it that there was something to edit.
func (d desk) swap(name, old, new string) {
	d.t.Helper()
	text := d.read(name)
	if !strings.Contains(text, old) {
		d.t.Fatalf("%s does not hold %q", name, old)
	}
	d.write(name, []byte(strings.Replace(text, old, new, 1)))
}

// sign makes the certificate that a liar would: of whatever capture there is, edited, with the
// signature and hash right.
func (d desk) sign(key ed25519.PrivateKey, edit func(*Certificate)) {
	d.t.Helper()
	c, err := conformance.ReadCapture(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	d.seal(of(c), key, edit)
}

func (d desk) seal(c *Certificate, key ed25519.PrivateKey, edit func(*Certificate)) {
	d.t.Helper()
	c.Key = encodeKey(key)
	if edit != nil {
		edit(c)
	}
	message, err := c.message()
	if err != nil {
		d.t.Fatal(err)
	}
	c.Signature = b64(ed25519.Sign(key, message))
	if err := c.Save(d.dir); err != nil {
		d.t.Fatal(err)
	}
}

func newDesk(t *testing.T, capture []byte) desk {
	t.Helper()
	d := desk{t, t.TempDir()}
	d.write(conformance.CaptureFile, capture)
	return d
}

func TestGenuine(t *testing.T) {
	for _, tt := range []struct {
		name    string
		capture []byte
		want    conformance.Verdict
	}{
		{"sound", specimen.Capture(), conformance.Pass},
		{"failing", specimen.Fail(specimen.Capture(), "first-call-spawns"), conformance.Fail},
	} {
		d := newDesk(t, tt.capture)
		c, err := conformance.ReadCapture(d.dir)
		if err != nil {
			t.Fatal(err)
		}
		made, err := Make(c, keyOf(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Save(d.dir); err != nil {
			t.Fatal(err)
		}
		for _, by := range []ed25519.PublicKey{nil, keyOf(1).Public().(ed25519.PublicKey)} {
			got, err := Verify(d.path(File), Options{Public: by})
			if err != nil || got.Outcome != tt.want || len(got.Verdicts) != len(conformance.Catalogue())+1 {
				t.Errorf("%s: %v, %+v", tt.name, err, got)
			}
		}
	}
}

// lie is one way to tamper, and what is said about it.
type lie struct {
	name    string
	capture []byte // nil: a sound one
	tell    func(d desk)
	want    string
}

var (
	mine    = keyOf(1)
	failing = specimen.Fail(specimen.Capture(), "first-call-spawns")
)

// TestTampering has a row for each way to lie, and each has words of its own.
func TestTampering(t *testing.T) {
	words := map[string]string{}
	for _, tt := range slices.Concat(editedCertificates(), signedLies(), captureLies(t)) {
		if tt.capture == nil {
			tt.capture = specimen.Capture()
		}
		d := newDesk(t, tt.capture)
		tt.tell(d)
		got, err := Verify(d.path(File), Options{Public: mine.Public().(ed25519.PublicKey)})
		if got != nil || !errors.Is(err, ErrNotGenuine) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if other, taken := words[tt.want]; taken && tt.want != unfit {
			t.Errorf("%s and %s are told alike", tt.name, other)
		}
		words[tt.want] = tt.name
	}
}

// unfit is all that can be said of what was not signed again.
const unfit = "its signature does not fit"

// editedCertificates were changed by somebody without the key.
func editedCertificates() []lie {
	return []lie{
		{"a verdict is edited", failing, func(d desk) {
			d.sign(mine, nil)
			d.swap(File, `"verdict": "FAIL"`, `"verdict": "PASS"`)
		}, unfit},
		{"the outcome is edited", failing, func(d desk) {
			d.sign(mine, nil)
			d.swap(File, `"outcome": "FAIL"`, `"outcome": "PASS"`)
		}, unfit},
		{"the noise is edited", nil, func(d desk) {
			d.sign(mine, nil)
			d.swap(File, `"worst_ms": 12`, `"worst_ms": 11`)
		}, unfit},
		{"the signature is", nil, func(d desk) {
			d.sign(mine, nil)
			d.swap(File, `"signature": "`, `"signature": "!`)
		}, "its signature is none"},
		{"the key is none", nil, func(d desk) {
			d.sign(mine, nil)
			d.swap(File, `"key": "`, `"key": "AAAA`)
		}, "its key is no ed25519 key"},
		{"somebody else signs", nil, func(d desk) { d.sign(keyOf(2), nil) }, "it was signed with the key SHA256:"},
		{"somebody else signs under a stolen name", nil, func(d desk) {
			d.sign(keyOf(2), func(c *Certificate) { c.Key = encodeKey(mine) })
		}, unfit},
		{"a field is added", nil, func(d desk) {
			d.sign(mine, nil)
			d.swap(File, `"suite"`, `"note": "x", "suite"`)
		}, "it holds what no certificate does"},
		{"a field is there twice", nil, func(d desk) {
			d.sign(mine, nil)
			d.swap(File, `"outcome": `, "\"outcome\": \"FAIL\",\n  \"outcome\": ")
		}, "it is not in the form in which it was written"},
	}
}

// signedLies are told by the owner of the key.
func signedLies() []lie {
	return []lie{
		{"a verdict is made up and signed", failing, func(d desk) {
			d.sign(mine, func(c *Certificate) {
				for i := range c.Verdicts {
					c.Verdicts[i].Verdict = conformance.Pass
				}
			})
		}, "it says that first-call-spawns (MUST) is PASS; judged again, first-call-spawns (MUST) is FAIL"},
		{"a verdict is left out and the rest signed", failing, func(d desk) {
			d.sign(mine, func(c *Certificate) { c.Verdicts = c.Verdicts[1:] })
		}, "verdicts, and the capture gives"},
		{"the outcome is made up", failing, func(d desk) {
			d.sign(mine, func(c *Certificate) { c.Outcome = conformance.Pass })
		}, "its outcome is PASS, and its verdicts come to FAIL"},
		{"the noise is made up", nil, func(d desk) {
			d.sign(mine, func(c *Certificate) { c.Noise.WorstMS = 1 })
		}, "its noise is"},
		{"the target is another one", nil, func(d desk) {
			d.sign(mine, func(c *Certificate) { c.Target.Digest = "sha256:11" })
		}, `it names the target "specimen" (none sha256:11), and the capture is of "specimen" (none sha256:00)`},
		{"the date is another one", nil, func(d desk) {
			d.sign(mine, func(c *Certificate) { c.Started = c.Started.AddDate(1, 0, 0) })
		}, "it says that the run began at"},
		{"the catalogue is another one", nil, func(d desk) {
			d.sign(mine, func(c *Certificate) { c.Catalogue = "sha256:11" })
		}, "it names the catalogue sha256:11, and was run with"},
		{"the size is another one", nil, func(d desk) {
			d.sign(mine, func(c *Certificate) { c.Capture.Bytes++ })
		}, "it says that the capture has"},
		{"the capture is elsewhere", nil, func(d desk) {
			d.sign(mine, func(c *Certificate) { c.Capture.File = "../other.jsonl" })
		}, `its capture is called "../other.jsonl"`},
	}
}

// captureLies are captures that are not what they should be, most of them signed.
func captureLies(t *testing.T) []lie {
	atRun := func(change func(l map[string]any)) []byte {
		return specimen.Edit(specimen.Capture(), specimen.Run, change)
	}
	onFirst := func(change func(check map[string]any)) []byte {
		return atRun(func(l map[string]any) { change(l["checks"].([]any)[0].(map[string]any)) })
	}
	return []lie{
		{"the capture is edited", failing, func(d desk) {
			d.sign(mine, nil)
			d.swap(conformance.CaptureFile, `"verdict":"FAIL"`, `"verdict":"PASS"`)
		}, "the capture beside it is another one than was signed"},
		{"the capture is cut off, and signed", nil, func(d desk) {
			c, err := conformance.ReadCapture(d.dir)
			if err != nil {
				t.Fatal(err)
			}
			made := of(c)
			text := d.read(conformance.CaptureFile)
			d.write(conformance.CaptureFile, []byte(text[:strings.LastIndexByte(text[:len(text)-1], '\n')+1]))
			made.Capture.Digest, _ = conformance.FileDigest(d.path(conformance.CaptureFile))
			d.seal(made, mine, nil)
		}, "it is cut off after line"},
		{"only some checks are run", atRun(func(l map[string]any) { l["partial"] = true }), func(d desk) { d.sign(mine, nil) },
			"it is not complete: only"},
		{"a check is left out", specimen.Edit(specimen.Edit(atRun(func(l map[string]any) { l["checks"] = l["checks"].([]any)[1:] }),
			conformance.Catalogue()[0].ID, func(l map[string]any) { clear(l) }),
			specimen.End, func(l map[string]any) { l["attempts"] = l["attempts"].(float64) - 1 }),
			func(d desk) { d.sign(mine, nil) }, "it is not complete: the check " + conformance.Catalogue()[0].ID + " of the catalogue is missing"},
		{"a level is lowered", onFirst(func(c map[string]any) { c["level"] = "SHOULD" }), func(d desk) { d.sign(mine, nil) },
			`it is not complete: the check ` + conformance.Catalogue()[0].ID + ` is described as {`},
		{"a foreign catalogue is run", atRun(func(l map[string]any) { l["catalogue"] = "sha256:22" }), func(d desk) { d.sign(mine, nil) },
			"it is not complete: it names the catalogue sha256:22, and that of this suite is"},
	}
}

// TestUnverifiable: when nothing can be known, nothing is called a forgery.
func TestUnverifiable(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(d desk)
		want string
	}{
		{"no certificate", func(d desk) {
			if err := os.Remove(d.path(File)); err != nil {
				t.Fatal(err)
			}
		}, "no such file"},
		{"no capture", func(d desk) {
			if err := os.Remove(d.path(conformance.CaptureFile)); err != nil {
				t.Fatal(err)
			}
		}, "the capture that it rests on cannot be read"},
		{"a directory", func(d desk) {
			if err := errors.Join(os.Remove(d.path(File)), os.Mkdir(d.path(File), 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "it is no regular file"},
		{"a pipe for a capture", func(d desk) {
			if err := errors.Join(os.Remove(d.path(conformance.CaptureFile)), syscall.Mkfifo(d.path(conformance.CaptureFile), 0o600)); err != nil {
				t.Fatal(err)
			}
		}, "is no regular file; copy both files"},
		{"another version", func(d desk) { d.swap(File, `"certificate": 1`, `"certificate": 2`) }, "it has schema 2, and this mayfly verifies schema 1"},
		{"another suite", func(d desk) { d.swap(File, `"suite": "`, `"suite": "9.`) }, "it was made by suite \"9."},
		{"cut off", func(d desk) { d.write(File, []byte(d.read(File)[:200])) }, "it is no certificate, or cut off"},
		{"something else", func(d desk) { d.write(File, []byte("hello")) }, "it is no certificate, or cut off"},
	} {
		d := newDesk(t, specimen.Capture())
		d.sign(keyOf(1), nil)
		tt.do(d)
		if _, err := Verify(d.path(File), Options{}); err == nil || errors.Is(err, ErrNotGenuine) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestBinary holds a certificate against the program that it speaks of.
func TestBinary(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	digest, err := conformance.FileDigest(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ digest, want string }{
		{digest, ""}, {"sha256:00", "it speaks of another program"}, {"", "it names no program"},
	} {
		d := newDesk(t, specimen.Edit(specimen.Capture(), specimen.Run, func(l map[string]any) {
			l["target"] = map[string]any{"name": "specimen", "digest": tt.digest}
		}))
		d.sign(keyOf(1), nil)
		_, err := Verify(d.path(File), Options{Binary: program})
		if (err == nil) != (tt.want == "") || err != nil && (!errors.Is(err, ErrNotGenuine) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v, want %q", tt.digest, err, tt.want)
		}
	}
}

// TestMakeRefusesHalf: what does not cover the catalogue is not even signed.
func TestMakeRefusesHalf(t *testing.T) {
	d := newDesk(t, specimen.Edit(specimen.Capture(), specimen.Run, func(l map[string]any) { l["partial"] = true }))
	c, err := conformance.ReadCapture(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Make(c, keyOf(1)); err == nil || !strings.Contains(err.Error(), "cannot be certified: only") {
		t.Errorf("a partial run: %v", err)
	}
}

func TestKeys(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	public := func(key any) []byte {
		der, err := x509.MarshalPKIXPublicKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	}
	block := func(kind string) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte("x")}) }
	good, pub := private(keyOf(1)), public(keyOf(1).Public())
	for _, tt := range []struct {
		name            string
		file            []byte
		asKey, asPublic string // what is wrong with it, "" if nothing
	}{
		{"private", good, "", "is a \"PRIVATE KEY\"; make it with: openssl pkey"},
		{"public", pub, "is a public one", ""},
		{"rsa", private(rsaKey), "is a *rsa.PrivateKey, and no ed25519 key", "make it with"},
		{"rsa public", public(rsaKey.Public()), "is a public one", "is a *rsa.PublicKey, and no ed25519 key"},
		{"encrypted", block("ENCRYPTED PRIVATE KEY"), "is encrypted; decrypt it", "make it with"},
		{"openssh", block("OPENSSH PRIVATE KEY"), "and no PKCS#8 PRIVATE KEY", "make it with"},
		{"broken", block("PRIVATE KEY"), "is no PKCS#8 key", "make it with"},
		{"broken public", block("PUBLIC KEY"), "is a public one", "cannot be read"},
		{"text", []byte("secret"), "is no PEM file", "is no PEM file"},
		{"huge", bytes.Repeat([]byte("x"), maxKeyFile+1), "and is no key", "and is no key"},
	} {
		path := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(path, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := ReadKey(path)
		says(t, tt.name+" as key", err, tt.asKey)
		if err == nil && !key.Equal(keyOf(1)) {
			t.Errorf("%s: another key was read", tt.name)
		}
		_, err = ReadPublic(path)
		says(t, tt.name+" as public key", err, tt.asPublic)
	}
	_, err = ReadKey(filepath.Join(t.TempDir(), "none"))
	says(t, "no file", err, "no such file")
}

func says(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: the error quotes the file: %v", name, err)
	}
}
