package dump

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mvccmap/mvccmap/internal/backupfile"
	"github.com/mvccmap/mvccmap/internal/disk"
	"github.com/mvccmap/mvccmap/internal/gobtext"
)

func newBuffered(r io.Reader, size int) io.Reader { return bufio.NewReaderSize(r, size) }

// known reports whether records of a codec can be told apart.
func known(codec string) bool { return codec == "gob" || codec == "json" }

// A record is one of a table, or the deletion of one, in JSON.
type record struct {
	key, value []byte
	deleted    bool
}

// records calls visit for each record of a table. What it is given is valid until it returns.
func records(t *backupfile.Table, codec string, visit func(*record) error) error {
	n := 0
	for {
		next := fromGob(t)
		if codec == "json" {
			next = fromJSON(t)
		}
		for {
			r, err := next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return inRecord(t, n+1, err)
			}
			n++
			if err := visit(r); err != nil {
				return err
			}
		}
		if !t.Anew() {
			break
		}
	}
	if n != t.Records {
		return t.Damage(fmt.Sprintf("table %q has %d records, and %d were written", t.Name, n, t.Records))
	}
	return nil
}

// inRecord says in which record an error is, unless it is damage, which is named by its offset.
func inRecord(t *backupfile.Table, n int, err error) error {
	if isDamage(err) {
		return err
	}
	return t.Damage(fmt.Sprintf("record %d of table %q cannot be decoded: %v", n, t.Name, err))
}

func fromGob(t *backupfile.Table) func() (*record, error) {
	d := gobtext.NewReader(t)
	return func() (*record, error) {
		err := d.Next()
		if err != nil {
			return nil, err
		}
		fields, err := d.Fields()
		if err != nil {
			return nil, err
		}
		r := &record{value: []byte("{}")}
		for _, f := range fields {
			switch f.Name {
			case "K":
				r.key = f.Text
			case "V":
				if r.value = f.Text; f.Absent && strings.HasPrefix(t.Value, "*") {
					r.value = []byte("null")
				}
			case "D":
				r.deleted = bytes.Equal(f.Text, []byte("true"))
			}
		}
		if r.key == nil {
			return nil, errors.New("it has no key")
		}
		return r, nil
	}
}

func fromJSON(t *backupfile.Table) func() (*record, error) {
	d := json.NewDecoder(t)
	return func() (*record, error) {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		var fields struct {
			K, V json.RawMessage
			D    bool
		}
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, err
		}
		if fields.K == nil {
			return nil, errors.New("it has no key")
		}
		r := &record{value: []byte("{}"), deleted: fields.D}
		var key, value bytes.Buffer
		if err := json.Compact(&key, fields.K); err != nil {
			return nil, err
		}
		r.key = disk.EscapeLineEnds(key.Bytes())
		if fields.V != nil {
			if err := json.Compact(&value, fields.V); err != nil {
				return nil, err
			}
			r.value = disk.EscapeLineEnds(value.Bytes())
		}
		return r, nil
	}
}

// A digest stands for a key: no two of them have the same one.
type digest [16]byte

// digestOf returns the digest of a key, the same for keys that are equal.
func digestOf(key []byte) digest {
	sum := sha256.Sum256(withoutNegativeZero(key))
	return digest(sum[:16])
}

// withoutNegativeZero makes -0 in JSON 0: as keys both are the same.
func withoutNegativeZero(text []byte) []byte {
	if !bytes.Contains(text, []byte("-0")) {
		return text
	}
	out := make([]byte, 0, len(text))
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\' && i+1 < len(text):
			out = append(out, c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case c == '-' && !quoted && isZero(text[i+1:]) && !bytes.HasSuffix(out, []byte("e")):
			continue
		}
		out = append(out, c)
	}
	return out
}

// isZero reports whether text begins with the number 0.
func isZero(text []byte) bool {
	return len(text) > 0 && text[0] == '0' &&
		(len(text) == 1 || !bytes.ContainsRune([]byte("0123456789.eE"), rune(text[1])))
}
