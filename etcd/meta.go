package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/door"
)

// A meta describes the tables that are kept under a prefix.
type meta struct {
	Format  int                  `json:"format"`
	Version int                  `json:"version,omitempty"` // Config.Version
	Tables  map[string]metaTable `json:"tables"`
}

// A metaTable describes the records that are kept of a table.
type metaTable struct {
	// Codecs are how records may be encoded: those that were written once are as they were written.
	Codecs []string `json:"codecs"`
	// Types are those of the records, of the program that has most in them; and Wider of one that was
	// opened with Config.Rolling and has more.
	Types backupfile.TableHeader `json:"types"`
	Wider backupfile.TableHeader `json:"wider,omitzero"`
}

const format = 3

// parseMeta returns the meta that is kept, or a *SchemaError.
func parseMeta(kv *mvccpb.KeyValue) (m meta, err error) {
	var only struct{ Format int }
	if err := json.Unmarshal(kv.Value, &only); err == nil && only.Format == format {
		if err := json.Unmarshal(kv.Value, &m); err == nil {
			return m, nil
		}
	}
	return m, &SchemaError{Kept: "format " + string(kv.Value), Want: fmt.Sprint("format ", format)}
}

// agree makes sure that the tables that are kept fit the schema, adds the tables and types that are
// new, and makes the revision be above the local clock, which has counted the indexes. It puts
// cease with a change that programs which run have to look at before they commit again.
func (db *DB) agree(ctx context.Context) error {
	for done := false; !done; {
		if err := db.again(ctx, func() (err error) {
			done, err = db.agreeOnce(ctx)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) agreeOnce(ctx context.Context) (done bool, err error) {
	resp, err := db.get(ctx, db.keys.meta())
	if err != nil {
		return false, err
	}
	first := int64(0)
	if len(resp.Kvs) == 0 {
		first = resp.Header.Revision
	}
	same, err := db.noNeighbours(ctx, first)
	if isRPC(err, rpctypes.ErrCompacted) {
		return false, nil // in the next round
	}
	if err != nil {
		return false, err
	}
	m, mod := meta{Format: format, Version: db.cfg.Version, Tables: map[string]metaTable{}}, int64(0)
	if len(resp.Kvs) > 0 {
		mod = resp.Kvs[0].ModRevision
		if m, err = parseMeta(resp.Kvs[0]); err != nil {
			return false, err
		}
	}
	if err := db.accepts(m); err != nil {
		return false, err
	}
	before, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	cease := db.add(&m)
	for name, t := range db.schema.tables {
		db.narrow(name, t, m.Tables[name])
	}
	text, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	if string(text) == string(before) && mod > 0 && uint64(resp.Header.Revision) > db.local.Epoch()+1 {
		db.agreed.Store(mod)
		return true, nil
	}
	puts := []clientv3.Op{clientv3.OpPut(db.keys.meta(), string(text))}
	if cease {
		puts = append(puts, clientv3.OpPut(db.keys.cease(), ""))
	}
	// Whether it was applied shows in the next round.
	same = append(same, clientv3.Compare(clientv3.ModRevision(db.keys.meta()), "=", mod))
	_, err = db.txn(ctx, same, puts, nil)
	return false, err
}

// noNeighbours returns an error if the prefix is within that of another database, or first is set, a
// revision at which there is no database at the prefix, and there are keys then: of one that is within
// it, maybe. The comparisons say that this is so.
func (db *DB) noNeighbours(ctx context.Context, first int64) (same []clientv3.Cmp, err error) {
	for _, name := range db.keys.above() {
		resp, err := db.get(ctx, name)
		if err != nil {
			return nil, err
		}
		rev := int64(0)
		for _, kv := range resp.Kvs {
			var m struct{ Format int }
			if rev = kv.ModRevision; json.Unmarshal(kv.Value, &m) == nil && m.Format > 0 {
				return nil, fmt.Errorf("Config.Prefix %q is within %q, at which there is another database: want "+
					"prefixes of which none begins with the other one", db.cfg.Prefix, strings.TrimSuffix(name, metaAt))
			}
		}
		same = append(same, clientv3.Compare(clientv3.ModRevision(name), "=", rev))
	}
	if first == 0 {
		return same, nil
	}
	resp, err := db.get(ctx, db.cfg.Prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
		clientv3.WithLimit(1000), clientv3.WithRev(first)) // one that is opened at once comes later
	if err != nil {
		return nil, err
	}
	for _, kv := range resp.Kvs {
		if _, ok := db.keys.slot(string(kv.Key)); !ok { // of a database that was deleted
			return nil, fmt.Errorf("there is no database at Config.Prefix %q, and there is key %q: want a "+
				"prefix that nobody else uses, neither a database whose prefix begins with it", db.cfg.Prefix,
				kv.Key)
		}
	}
	end := clientv3.GetPrefixRangeEnd(db.cfg.Prefix)
	for from, to := range map[string]string{db.cfg.Prefix: db.keys.slots(),
		clientv3.GetPrefixRangeEnd(db.keys.slots()): end} {
		same = append(same, clientv3.Compare(clientv3.CreateRevision(from), "=", 0).WithRange(to))
	}
	return same, nil
}

// accepts returns a *SchemaError if the program cannot go on with the tables that are kept: it
// cannot decode them, or would lose something of them.
func (db *DB) accepts(m meta) error {
	if err := db.acceptsVersion(m); err != nil {
		return err
	}
	for name, t := range db.schema.tables {
		if err := db.acceptsTable(name, t, m.Tables[name]); err != nil {
			return err
		}
	}
	return nil
}

// acceptsTable is accepts for one table.
func (db *DB) acceptsTable(name string, t table, kept metaTable) error {
	for _, codec := range kept.Codecs {
		if !slices.Contains(t.decodes(), codec) {
			return &SchemaError{Table: name, Kept: codec, Want: t.codec()}
		}
	}
	if t.anyShape() {
		return nil
	}
	lost, more := db.compare(name, t, kept.Types)
	if wider, _ := db.compare(name, t, kept.Wider); lost == nil && more {
		lost = wider // neither of the two would notice that it loses something of the other one
	}
	return lost
}

// acceptsVersion returns a *SchemaError if the program does not take the version that is kept.
func (db *DB) acceptsVersion(m meta) error {
	if m.Version == db.cfg.Version || slices.Contains(db.cfg.Versions, m.Version) {
		return nil
	}
	return &SchemaError{Kept: fmt.Sprint("version ", m.Version),
		Want: fmt.Sprintf("Config.Version %d, or one of Versions, %d", db.cfg.Version, db.cfg.Versions),
		Err:  &durable.VersionError{Saved: m.Version, Version: db.cfg.Version, Versions: db.cfg.Versions}}
}

// compare returns a *SchemaError if something of some types of a table is not in those of the program,
// and whether the program has more. That is known of tables without functions of their own.
func (db *DB) compare(name string, t table, was backupfile.TableHeader) (lost error, more bool) {
	if t.ownValues() || was.ValueShape.IsZero() {
		return nil, false
	}
	is := db.described(name)
	was.KeyShape = is.KeyShape // the codec says the type of keys
	if text, fits := was.Lost(is); !fits {
		lost = &SchemaError{Table: name, Kept: was.ValueShape.String(), Want: is.ValueShape.String(),
			Err: &durable.SchemaError{Table: name, Saved: [2]string{was.Key, was.Value},
				Is: [2]string{is.Key, is.Value}, Lost: text}}
	}
	_, fits := is.Lost(was)
	return lost, !fits
}

// described returns the description of the types of a table.
func (db *DB) described(name string) backupfile.TableHeader {
	return backupfile.Describe(door.Of(db.local).Table(name), "json")
}

// narrow notes why this program does not keep all that is kept of a table, if that is so: its commits
// are looked at then, see keepsFields.
func (db *DB) narrow(name string, t table, kept metaTable) {
	err := db.acceptsTable(name, t, kept)
	if err == nil && !t.anyShape() {
		err, _ = db.compare(name, t, kept.Wider)
	}
	if err == nil {
		db.less.Delete(name)
		return
	}
	if _, noted := db.less.Swap(name, err); !noted {
		db.cfg.Logger.Warn("etcd: a program was opened that keeps more than this one: an Update that would "+
			"lose some of it is refused", "prefix", db.cfg.Prefix, "error", err)
	}
}

// add adds the version, the encodings and the types of the program, and reports whether programs
// that run may have less, or another version.
func (db *DB) add(m *meta) (cease bool) {
	if m.Version != db.cfg.Version && !db.cfg.Rolling {
		m.Version, cease = db.cfg.Version, true
	}
	for name, t := range db.schema.tables {
		kept, there := m.Tables[name]
		if !slices.Contains(kept.Codecs, t.codec()) {
			kept.Codecs = append(kept.Codecs, t.codec())
		}
		is := db.described(name)
		is.ID = 0
		if t.ownValues() {
			is.KeyShape, is.ValueShape = backupfile.Shape{}, backupfile.Shape{}
		}
		unknown := t.ownValues() && !kept.Types.ValueShape.IsZero() // whether it loses something
		lost, exceeds := db.compare(name, t, kept.Types)
		lostWider, _ := db.compare(name, t, kept.Wider)
		switch {
		case !there || !db.cfg.Rolling && !unknown && lost == nil:
			if kept.Types = is; lostWider == nil {
				kept.Wider = backupfile.TableHeader{}
			}
		case exceeds && lostWider == nil:
			kept.Wider = is
		}
		cease = cease || there && exceeds
		m.Tables[name] = kept
	}
	return cease
}

// metaNow looks at the meta again, if another program has changed it since Open looked.
func (db *DB) metaNow(ctx context.Context) error {
	return db.again(ctx, func() error {
		resp, err := db.get(ctx, db.keys.meta())
		if err != nil || len(resp.Kvs) == 0 || resp.Kvs[0].ModRevision == db.agreed.Load() {
			return err
		}
		return db.metaChanged(resp.Kvs[0])
	})
}

// metaChanged looks at a meta that another program has put. The error says that this one must not
// write any more.
func (db *DB) metaChanged(kv *mvccpb.KeyValue) error {
	m, err := parseMeta(kv)
	if err != nil {
		return err
	}
	if err := db.acceptsVersion(m); err != nil {
		return err
	}
	for name, t := range db.schema.tables {
		db.narrow(name, t, m.Tables[name])
	}
	db.agreed.Store(kv.ModRevision) // last: its commits compare with it from now on
	return nil
}
