package linear

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What the first line of a saved history says that it is.
const (
	formatName    = "mvccmap-onekey-history"
	formatVersion = 1
)

type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Fresh   bool   `json:"fresh"`
	Ops     int    `json:"ops"`
}

// Write saves h: a line of JSON that says what it is, and one for each
// operation.
func (h *History) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	if err := enc.Encode(header{formatName, formatVersion, h.Fresh, len(h.Ops)}); err != nil {
		return err
	}
	for i := range h.Ops {
		if err := enc.Encode(&h.Ops[i]); err != nil {
			return err
		}
	}
	return b.Flush()
}

// ErrFormat is what Read's error wraps if it was given something else than a
// history of one-key operations.
var ErrFormat = errors.New("linear: not a history of one-key operations")

// Read reads what Write has written.
func Read(r io.Reader) (*History, error) {
	dec := json.NewDecoder(bufio.NewReader(r))
	var head header
	if err := dec.Decode(&head); err != nil || head.Format != formatName {
		return nil, ErrFormat
	}
	if head.Version != formatVersion {
		return nil, fmt.Errorf("linear: a history of version %d, not %d", head.Version, formatVersion)
	}
	h := &History{Fresh: head.Fresh}
	for {
		var o Op
		err := dec.Decode(&o)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("linear: operation %d: %w", len(h.Ops)+1, err)
		}
		if o.Return < o.Call {
			return nil, fmt.Errorf("linear: operation %d returns before it was called", len(h.Ops)+1)
		}
		h.Ops = append(h.Ops, o)
	}
	if len(h.Ops) != head.Ops {
		return nil, fmt.Errorf("linear: %d operations instead of %d: the file has been cut", len(h.Ops), head.Ops)
	}
	return h, nil
}
