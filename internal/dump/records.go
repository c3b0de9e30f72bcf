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
	"github.com/mvccmap/mvccmap/internal/gobtext"
	"github.com/mvccmap/mvccmap/mvcc"
)

func newBuffered(r io.Reader, size int) io.Reader { return bufio.NewReaderSize(r, size) }

// known reports whether records of a codec can be told apart.
func known(codec string) bool { return codec == "gob" || codec == "json" }

// A record is one of a table, or the deletion of one, in JSON.
type record struct {
	key, value []byte
	deleted    bool
	// raw is what the codec has written. In a stream of gob repairs and defs come before it, see
	// [gobtext.Message]; inner are definitions within it.
	repairs, raw []byte
	defs, inner  []gobtext.Def
	// anew says that it is the first one of an encoder.
	anew bool
}

// shapes are those of key, value and the deletion mark of a table.
type shapes map[string]gobtext.Shape

func shapesOf(t *mvcc.BackupTable) shapes {
	return shapes{"K": shapeOf(t.KeyShape, t.Key), "V": shapeOf(t.ValueShape, t.Value),
		"D": gobtext.ParseShape([]byte(`[{"k":"bool"}]`))}
}

// shapeOf returns a shape, or, of a format without any, what the name of the type says.
func shapeOf(s mvcc.Shape, name string) gobtext.Shape {
	if s.IsZero() {
		if strings.HasPrefix(name, "*") {
			return gobtext.ParseShape([]byte(`[{"k":"*","t":[1]},{"k":"?"}]`))
		}
		return gobtext.ParseShape([]byte(`[{"k":"?"}]`))
	}
	text, err := json.Marshal(s)
	if err != nil {
		return gobtext.Shape{}
	}
	return gobtext.ParseShape(text)
}

// records calls visit for each record of a table. What it is given is valid until it returns.
func records(t *backupfile.Table, codec string, of shapes, visit func(*record) error) error {
	n := 0
	for {
		next := fromGob(t, of)
		if codec == "json" {
			next = fromJSON(t)
		}
		for anew := true; ; anew = false {
			r, err := next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return inRecord(t, n+1, err)
			}
			n++
			r.anew = anew
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

func fromGob(t *backupfile.Table, of shapes) func() (*record, error) {
	d := gobtext.NewDecoder(t)
	return func() (*record, error) {
		m, err := d.Next(of)
		if err != nil {
			return nil, err
		}
		r := &record{value: []byte("{}"), repairs: m.Repairs, raw: m.Raw, defs: m.Defs, inner: m.Inner}
		for _, f := range m.Fields {
			switch f.Name {
			case "K":
				r.key = f.Text
			case "V":
				r.value = f.Text
			case "D":
				r.deleted = bytes.Equal(f.Text, []byte("true"))
			}
		}
		if r.key == nil || r.value == nil {
			return nil, errors.New("it has no key, or no value")
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
		if bytes.IndexByte(raw, '\n') >= 0 { // of another codec of that name
			var line bytes.Buffer
			if err := json.Compact(&line, raw); err != nil {
				return nil, err
			}
			raw = line.Bytes()
		}
		r := &record{value: []byte("{}"), deleted: fields.D, raw: append(raw, '\n')}
		var key, value bytes.Buffer
		if err := json.Compact(&key, fields.K); err != nil {
			return nil, err
		}
		r.key = key.Bytes()
		if fields.V != nil {
			if err := json.Compact(&value, fields.V); err != nil {
				return nil, err
			}
			r.value = value.Bytes()
		}
		return r, nil
	}
}

// A digest stands for a key or value: no two of them have the same one.
type digest [16]byte

func digestOf(text []byte) digest {
	sum := sha256.Sum256(text)
	return digest(sum[:16])
}

// keyDigest is the same for keys that are equal.
func keyDigest(key []byte) digest { return digestOf(withoutNegativeZero(key)) }

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
