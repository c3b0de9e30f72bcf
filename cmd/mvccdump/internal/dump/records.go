package dump

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/disk"
	"github.com/mvccmap/mvccmap/internal/seam/gobtext"
)

// A record is one of a table, or the deletion of one, as package json prints it.
type record struct {
	key, value any
	deleted    bool
}

// records calls visit for each record of a table. Its record is valid until it returns.
func records(t *backupfile.Table, codec string, visit func(*record) error) error {
	open, known := map[string]func(*backupfile.Table) func() (*record, error){
		"gob": fromGob, "json": fromJSON}[codec]
	if !known {
		return fmt.Errorf("the codec %q is not known: its records cannot be told apart", codec)
	}
	n := 0
	for again := true; again; again = t.Anew() {
		for next := open(t); ; n++ {
			r, err := next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil && !errors.As(err, new(*disk.DamageError)) {
				err = t.Damage(fmt.Sprintf("record %d of table %q cannot be decoded: %v", n+1, t.Name, err))
			}
			if err == nil {
				err = visit(r)
			}
			if err != nil {
				return err
			}
		}
	}
	if n != t.Records {
		return t.Damage(fmt.Sprintf("table %q has %d records, and %d were written", t.Name, n, t.Records))
	}
	return nil
}

func fromGob(t *backupfile.Table) func() (*record, error) {
	p := gobtext.NewPrinter(t)
	return func() (*record, error) {
		if err := p.Next(); err != nil {
			return nil, err
		}
		fields := p.Fields()
		r := &record{key: fields["K"], deleted: fields["D"] == true}
		var has bool
		if r.value, has = fields["V"]; !has {
			r.value = struct{}{}
		}
		switch r.value {
		case 0, "", false: // gob has left it out
			if strings.HasPrefix(t.Value, "*") {
				r.value = nil
			}
		}
		return r, nil
	}
}

func fromJSON(t *backupfile.Table) func() (*record, error) {
	d := json.NewDecoder(t)
	d.UseNumber()
	return func() (*record, error) {
		fields := struct {
			K any
			V json.RawMessage
			D bool
		}{V: json.RawMessage("{}")}
		if err := d.Decode(&fields); err != nil {
			return nil, err
		}
		return &record{positive(fields.K), fields.V, fields.D}, nil
	}
}

// positive makes -0 in JSON 0: as keys both are the same.
func positive(v any) any {
	switch v := v.(type) {
	case json.Number:
		if v == "-0" {
			return json.Number("0")
		}
	case []any:
		for i := range v {
			v[i] = positive(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = positive(v[name])
		}
	}
	return v
}

// jsonOf returns v as JSON, in one line for all readers.
func jsonOf(v any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return disk.EscapeLineEnds(text.Bytes()), err
}

// A digest stands for a key: no two of them have the same one.
type digest [16]byte

// digestOf returns the digest of a key, the same for keys that are equal.
func digestOf(key any) (digest, error) {
	text, err := jsonOf(key)
	sum := sha256.Sum256(text)
	return digest(sum[:16]), err
}
