package daemon

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// agentTokenPrefix tells an agent's token from the tokens of consumers' plans, so that one that
// is void is refused and not taken for somebody who has nothing but the shared entries.
const agentTokenPrefix = "mfa_"

// tokenSum is the SHA-256 of an agent's token, and all that is kept of it. The zero sum is that
// of no token.
type tokenSum [sha256.Size]byte

func sumOf(token string) tokenSum { return sha256.Sum256([]byte(token)) }

func (s tokenSum) String() string { return hex.EncodeToString(s[:]) }

// parseSum reads what String writes; nothing is no token.
func parseSum(text string) (s tokenSum, err error) {
	if text == "" {
		return s, nil
	}
	data, err := hex.DecodeString(text)
	if err != nil || len(data) != len(s) {
		return s, fmt.Errorf("token_sha256 is not the %d hexadecimal digits of a SHA-256", 2*len(s))
	}
	return tokenSum(data), nil
}

// mint gives an agent a new token, in place of the one before. Nobody can have it again.
func (as *agents) mint(id string) (token string, err error) {
	token = agentTokenPrefix + rand.Text() // 130 bits
	_, err = as.setToken(id, sumOf(token))
	return token, err
}

// setToken stores what is kept of an agent's token, and returns what was kept before.
func (as *agents) setToken(id string, now tokenSum) (was tokenSum, err error) {
	_, err = as.replace(id, func(old *record) (*record, error) {
		rec := *old
		was, rec.token = old.token, now
		return &rec, nil
	})
	return was, err
}

// holder finds the agent whose token this is, or nil. The look-up is by the sum, whose
// comparison tells nothing of the token.
func (as *agents) holder(token string) *agent {
	sum := sumOf(token)
	as.mu.RLock()
	defer as.mu.RUnlock()
	return as.byToken[sum]
}

// holds reports whether a token is an agent's own, now.
func (as *agents) holds(a *agent, token string) bool {
	return strings.HasPrefix(token, agentTokenPrefix) && as.holder(token) == a
}

// swapToken makes the index say what a new record of an agent says. Called with mu held.
func (as *agents) swapToken(a *agent, old, now tokenSum) {
	if old != (tokenSum{}) {
		delete(as.byToken, old)
	}
	if now != (tokenSum{}) {
		as.byToken[now] = a
	}
}
