package certificate

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxKeyFile bounds a key's file, in bytes.
const maxKeyFile = 64 << 10

// How keys are made; errors say it.
const (
	howKey    = "make one with: openssl genpkey -algorithm ed25519 -out key.pem"
	howPublic = "make it with: openssl pkey -in key.pem -pubout -out pub.pem"
)

// ReadKey reads the key that signs: PKCS#8 in PEM.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	block, err := readPEM(path)
	if err != nil {
		return nil, fmt.Errorf("the key: %w; %s", err, howKey)
	}
	switch block.Type {
	case "PRIVATE KEY":
	case "ENCRYPTED PRIVATE KEY":
		return nil, fmt.Errorf("the key %s is encrypted; decrypt it with: openssl pkey -in FILE -out key.pem", path)
	case "PUBLIC KEY":
		return nil, fmt.Errorf("the key %s is a public one; signing takes the private one", path)
	default:
		return nil, fmt.Errorf("the key %s is a %q, and no PKCS#8 PRIVATE KEY; %s", path, block.Type, howKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the key %s is no PKCS#8 key; %s", path, howKey) // the error may hold some of it
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key %s is a %T, and no ed25519 key; %s", path, parsed, howKey)
	}
	return key, nil
}

// ReadPublic reads the key that a signature is held against: PKIX in PEM.
func ReadPublic(path string) (ed25519.PublicKey, error) {
	block, err := readPEM(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the public key: %w; %s", err, howPublic)
	case block.Type != "PUBLIC KEY":
		return nil, fmt.Errorf("the public key %s is a %q; %s", path, block.Type, howPublic)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the public key %s cannot be read: %w; %s", path, err, howPublic)
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("the public key %s is a %T, and no ed25519 key", path, parsed)
	}
	return key, nil
}

// readPEM reads the one block of a file. A file of another kind is not quoted in errors.
func readPEM(path string) (*pem.Block, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxKeyFile:
		return nil, fmt.Errorf("%s has more than %d bytes and is no key", path, maxKeyFile)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is no PEM file", path)
	}
	return block, nil
}

// Fingerprint is what people compare: the SHA-256 of a public key.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

func decodeKey(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("its key is no ed25519 key")
	}
	return key, nil
}

func encodeKey(key ed25519.PrivateKey) string { return b64(key.Public().(ed25519.PublicKey)) }

func b64(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }
