package etcd

import (
	"context"
	"encoding/json"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// While programs with fewer and with more fields run, no field is lost in silence. A program whose
// fields are fewer, see [DB.narrow], looks at each record that it is to write as it is in etcd, and
// compares that it is still that: it refuses to write one that has something in a field that it has
// not. The others it writes, so a deployment goes on for as long as nobody uses a new field.
//
// A program that is opened with more fields puts the key that each commit compares, see keys. So a
// program has noted the tables of which it has less before it commits anything after that: a
// request reads the revision of the meta that was accepted before it reads these notes.

// A narrowPut is a record that a request puts, of a table that may have more than the program, and
// the *SchemaError that says so.
type narrowPut struct {
	table, name string
	why         error
}

// keepsFields compares the records that the request puts in tables of which the program has less, as
// they are now. Its error is a *SchemaError if something of one would be lost.
func (db *DB) keepsFields(ctx context.Context, r *request) error {
	gets := make([]clientv3.Op, len(r.narrow))
	for i, p := range r.narrow {
		gets[i] = clientv3.OpGet(p.name)
	}
	resp, err := db.txn(ctx, nil, gets, nil)
	if err != nil {
		return err
	}
	for i, p := range r.narrow {
		rev, kvs := int64(0), resp.Responses[i].GetResponseRange().Kvs
		if r.absent = r.absent || len(kvs) == 0; len(kvs) > 0 {
			rev = kvs[0].ModRevision
			if err := db.schema.tables[p.table].drops(kvs[0].Value); err != nil {
				return fmt.Errorf("etcd: %s would lose something: %w: %w", p.name, err, p.why)
			}
		}
		r.cmps = append(r.cmps, clientv3.Compare(clientv3.ModRevision(p.name), "=", rev))
	}
	if r.count() > db.cfg.MaxTxnOps {
		return r.tooLarge(db)
	}
	return nil
}

// drops returns an error if an encoded value cannot be decoded, or has a field in JSON, which is not
// zero, that is not there once it is encoded again.
func (t *Table[K, V]) drops(value []byte) error {
	var v V
	if err := guarded(func() (err error) {
		v, err = t.value.decode(value)
		return err
	}); err != nil || t.ownValues() {
		return err
	}
	again, err := t.value.encode(v)
	if err != nil {
		return err
	}
	var was, is any
	if err := json.Unmarshal(value, &was); err != nil {
		return err
	}
	if err := json.Unmarshal(again, &is); err != nil {
		return err
	}
	if field := missing(was, is, ""); field != "" {
		return fmt.Errorf("field %s", field[1:])
	}
	return nil
}

// missing returns the path of something in a value of JSON that is not zero, and not in another one,
// "" if there is nothing.
func missing(was, is any, at string) string {
	switch was := was.(type) {
	case map[string]any:
		in, _ := is.(map[string]any)
		for name, v := range was {
			one, there := in[name]
			if !there && isZeroJSON(v) {
				continue
			}
			if !there {
				return at + "." + name
			}
			if path := missing(v, one, at+"."+name); path != "" {
				return path
			}
		}
	case []any:
		in, _ := is.([]any)
		for i, v := range was {
			name := fmt.Sprint(at, ".", i)
			if i >= len(in) {
				return name
			}
			if path := missing(v, in[i], name); path != "" {
				return path
			}
		}
	}
	return ""
}

// isZeroJSON reports whether a value of JSON is the encoding of a zero value by package json, or
// decodes as one.
func isZeroJSON(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			if !isZeroJSON(one) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return v == nil || v == false || v == "" || v == 0.0
}
