package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
)

// Bounds of the conversation with the model's endpoint.
const (
	llmRetries     = 2 // after the first attempt
	firstRetryWait = 50 * time.Millisecond
	retryFactor    = 4 // 50 ms, 200 ms
	headerTimeout  = 30 * time.Second
	chunkTimeout   = 90 * time.Second // between two pieces of a stream
	maxErrorBody   = 2 << 10
	maxModelsBody  = 4 << 20
	maxModels      = 1024
	llmConns       = 64 // idle connections kept
)

// modelClient is the client of the model's endpoint.
type modelClient struct {
	origin string
	key    string
	direct bool   // the vendor's own API, and not a gateway
	path   string // of the configuration, for the error of an endpoint that is missing
	clock  clockwork.Clock
	http   *http.Client
}

func newModelClient(s *settings, clock clockwork.Clock) *modelClient {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.ResponseHeaderTimeout = headerTimeout
	tr.MaxIdleConnsPerHost = llmConns
	return &modelClient{
		origin: s.origin(), key: s.LLM.APIKey, direct: s.LLM.Kind != "", clock: clock,
		path: s.path,
		http: &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the key is for this origin alone (SPEC SE-4)
		}},
	}
}

// close gives the idle connections back.
func (l *modelClient) close() { l.http.CloseIdleConnections() }

var errNoLLM = errors.New("no LLM endpoint is configured")

// statusError is an HTTP answer other than success.
type statusError struct {
	status int
	body   string
}

// Error implements error.
func (e *statusError) Error() string {
	text := fmt.Sprintf("LLM endpoint answered HTTP %d %s", e.status, http.StatusText(e.status))
	if e.body != "" {
		text += ": " + e.body
	}
	return text
}

// again reports whether another attempt may help.
func again(err error) bool {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status == http.StatusTooManyRequests || e.status >= 500
	}
	return !errors.Is(err, errNoLLM) // what is left are timeouts and the network
}

// models asks for the advertised models.
func (l *modelClient) models(ctx context.Context) ([]string, error) {
	resp, err := l.do(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxModelsBody)).Decode(&list); err != nil {
		return nil, fmt.Errorf("the LLM endpoint's list of models cannot be read: %w", err)
	}
	var ids []string
	for _, m := range list.Data[:min(len(list.Data), maxModels)] {
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// stream asks the model and hands every event of the answer to each. What fails before the
// first event is retried; afterwards the answer is under way and a retry would repeat it.
func (l *modelClient) stream(ctx context.Context, q question, each func(sse) error) error {
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("the conversation does not encode: %w", err)
	}
	wait := firstRetryWait
	for attempt := 0; ; attempt++ {
		started, err := l.attempt(ctx, body, each)
		if err == nil || started || ctx.Err() != nil || attempt == llmRetries || !again(err) {
			return err
		}
		select {
		case <-l.clock.After(wait):
		case <-ctx.Done():
			return err
		}
		wait *= retryFactor
	}
}

func (l *modelClient) attempt(ctx context.Context, body []byte, each func(sse) error) (started bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := l.clock.AfterFunc(headerTimeout+chunkTimeout, func() {
		cancel(fmt.Errorf("the LLM endpoint sent nothing for %v", chunkTimeout))
	})
	defer stalled.Stop()
	resp, err := l.do(ctx, http.MethodPost, "/v1/messages", body)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	err = readEvents(resp.Body, func(e sse) error {
		if e.Type == "error" {
			return fmt.Errorf("the LLM endpoint failed: %s", l.scrub(clip(e.Error.Message, maxErrorBody)))
		}
		started = true
		stalled.Reset(chunkTimeout)
		return each(e)
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return started, err
}

// do sends one request. An answer that is no success is an error and its body is closed.
func (l *modelClient) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	if l.origin == "" {
		return nil, fmt.Errorf("%w: set base_url under [llm] in %s", errNoLLM, l.path)
	}
	req, err := http.NewRequestWithContext(ctx, method, l.origin+path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the LLM endpoint's address cannot be used; check base_url")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	if l.direct {
		req.Header.Set("X-Api-Key", l.key)
	} else {
		req.Header.Set("Authorization", "Bearer "+l.key)
	}
	resp, err := l.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the LLM endpoint: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // the status says enough without it
	return nil, &statusError{status: resp.StatusCode, body: l.scrub(strings.TrimSpace(string(text)))}
}

// scrub hides the key in what an endpoint echoes.
func (l *modelClient) scrub(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if l.key == "" {
		return text
	}
	return strings.ReplaceAll(text, l.key, mask)
}
