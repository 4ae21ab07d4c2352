package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// info says what a target is, without its arguments and paths: they may hold secrets. A
// program that cannot be read has no digest.
func (t Target) info() TargetInfo {
	info := TargetInfo{Name: t.Name}
	if len(t.Argv) == 0 {
		return info
	}
	info.Program = filepath.Base(t.Argv[0])
	if path, err := exec.LookPath(t.Argv[0]); err == nil {
		info.Digest, _ = FileDigest(path)
	}
	return info
}

// FileDigest is the SHA-256 of a regular file as a capture has it. Others, such as a pipe that
// nobody writes to, are refused.
func FileDigest(path string) (string, error) {
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
