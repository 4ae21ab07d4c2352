package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// jsonVersion is the format of the store.json that earlier daemons wrote.
const jsonVersion = 1

// storeFile is the shape of a store.json.
type storeFile struct {
	Version int          `json:"version"`
	Agents  []storedItem `json:"agents"`
}

type storedItem struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Config json.RawMessage `json:"config"`
	Token  string          `json:"token_sha256"`
}

func parseStore(data []byte) ([]*record, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, jsonProblem(err)
	}
	if version.Version != jsonVersion {
		return nil, fmt.Errorf("its version is %d and this daemon reads version %d", version.Version, jsonVersion)
	}
	var file storeFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, jsonProblem(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is something behind its end")
	}
	return parseItems(file.Agents)
}

func parseItems(items []storedItem) ([]*record, error) {
	ids, names := map[string]bool{}, map[string]bool{}
	var out []*record
	for i, item := range items {
		r, err := parseItem(item)
		if err != nil {
			return nil, fmt.Errorf("agent %d: %w", i+1, err)
		}
		if ids[r.id] || names[r.name] {
			return nil, fmt.Errorf("agent %d: its id or its name '%s' appears twice", i+1, r.name)
		}
		ids[r.id], names[r.name] = true, true
		out = append(out, r)
	}
	return out, nil
}

func parseItem(item storedItem) (*record, error) {
	id, err := parseAgentID(item.ID)
	if err != nil {
		return nil, err
	}
	if err := checkAgentName(item.Name); err != nil {
		return nil, err
	}
	obj, err := parseObject(string(item.Config))
	if err != nil {
		return nil, err
	}
	r, err := newRecord(id, item.Name, obj)
	if err != nil {
		return nil, err
	}
	r.token, err = parseSum(item.Token)
	return r, err
}
