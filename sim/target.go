package sim

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// Target is an effective configuration as the simulator sees it: a server program under a
// credential. Tenant 0 is the credential that everybody shares; a tenant's tokens are
// numbered. Different targets have different fingerprints, so sharing is visible.
type Target struct {
	Server uint32 // from 1
	Tenant uint32 // whose credential; 0 for none
	Token  uint32 // its number; 0 when Tenant is 0
}

// String returns the text used on tapes: s3, or s3/t17.2 for token 2 of tenant 17.
func (t Target) String() string {
	if t.Tenant == 0 {
		return fmt.Sprintf("s%d", t.Server)
	}
	return fmt.Sprintf("s%d/t%d.%d", t.Server, t.Tenant, t.Token)
}

// fingerprint encodes the target in its own fingerprint, so that the world can tell whose
// credential an incarnation was dialed with without asking the subject.
func (t Target) fingerprint() (fp lifecycle.Fingerprint) {
	binary.BigEndian.PutUint32(fp[0:], t.Server)
	binary.BigEndian.PutUint32(fp[4:], t.Tenant)
	binary.BigEndian.PutUint32(fp[8:], t.Token)
	return fp
}

// targetOf is the inverse of fingerprint.
func targetOf(fp *lifecycle.Fingerprint) Target {
	return Target{
		Server: binary.BigEndian.Uint32(fp[0:]),
		Tenant: binary.BigEndian.Uint32(fp[4:]),
		Token:  binary.BigEndian.Uint32(fp[8:]),
	}
}

// parseTarget is the inverse of String.
func parseTarget(s string) (t Target, err error) {
	server, credential, owned := strings.Cut(s, "/")
	if t.Server, err = parseNumber(server, 's', MaxServers); err != nil {
		return t, err
	}
	if !owned {
		return t, nil
	}
	if !strings.Contains(credential, ".") {
		return t, fmt.Errorf("%q is not a target: write s3, or s3/t17.2 for token 2 of tenant 17", s)
	}
	t.Tenant, t.Token, err = parseCredential(credential)
	return t, err
}

// parseCredential reads words such as t17.2.
func parseCredential(s string) (tenant, token uint32, err error) {
	owner, number, ok := strings.Cut(s, ".")
	if !ok {
		return 0, 0, fmt.Errorf("%q is not a credential: write t17.2 for token 2 of tenant 17", s)
	}
	if tenant, err = parseNumber(owner, 't', MaxTenants); err != nil {
		return 0, 0, err
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0, 0, fmt.Errorf("token %q is not a number", number)
	}
	return tenant, uint32(n), nil
}

// parseNumber reads words such as t17: a letter and a number from 1 to most.
func parseNumber(s string, letter byte, most int) (uint32, error) {
	if len(s) < 2 || s[0] != letter {
		return 0, fmt.Errorf("%q is not a reference: write %c and a number", s, letter)
	}
	n, err := strconv.ParseUint(s[1:], 10, 32)
	if err != nil || n == 0 || s[1] == '0' || s[1] == '+' {
		return 0, fmt.Errorf("%q is not a reference: write %c and a number from 1", s, letter)
	}
	if n > uint64(most) {
		return 0, fmt.Errorf("%q is out of range: %c1 to %c%d", s, letter, letter, most)
	}
	return uint32(n), nil
}
