package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A meta says what is kept under a prefix.
type meta struct {
	Format  int                  `json:"format"`
	Version int                  `json:"version,omitempty"` // Config.Version
	Tables  map[string]metaTable `json:"tables"`
}

// A metaTable says what is kept of a table.
type metaTable struct {
	// Codecs are how records may be encoded: those that were written once are as they were written,
	// until Rewrite has written them anew.
	Codecs []string `json:"codecs"`
	// Only is the one that may be written while Rewrite runs, else "", and By names that: one with
	// the same encoding joins it.
	Only string `json:"only,omitempty"`
	By   string `json:"by,omitempty"`
	// Types are those of the records, of the program that has most in them; and Wider of one that was
	// opened with Config.Rolling and has more.
	Types mvcc.BackupTable `json:"types"`
	Wider mvcc.BackupTable `json:"wider,omitzero"`
}

const format = 3

// parseMeta returns what is kept, or a *SchemaError.
func parseMeta(kv *mvccpb.KeyValue) (m meta, err error) {
	var only struct{ Format int }
	if err := json.Unmarshal(kv.Value, &only); err == nil && only.Format == format {
		if err := json.Unmarshal(kv.Value, &m); err == nil {
			return m, nil
		}
	}
	return m, &SchemaError{Kept: "format " + string(kv.Value), Want: fmt.Sprint("format ", format)}
}

// agree makes sure that what is kept is what the schema says, adds what is new, and makes the
// revision be above the local clock, which has counted the indexes.
func (db *DB) agree(ctx context.Context) error {
	agreed, err := db.changeMeta(ctx, func(m *meta, now uint64) (bool, bool, error) {
		if err := db.accepts(*m); err != nil {
			return false, false, err
		}
		version := m.Version != db.cfg.Version && !db.cfg.Rolling
		news, more := db.add(m)
		for name, t := range db.schema.tables {
			db.narrow(name, t, m.Tables[name])
		}
		return news || now <= db.local.Epoch()+1, version || more, nil
	})
	db.agreed.Store(agreed)
	return err
}

// changeMeta changes what is kept, and returns the revision at which that was put. The function is
// called with what is there as of a revision, until nothing is to be changed; cease says that
// programs which do not accept the change must not commit after it.
func (db *DB) changeMeta(
	ctx context.Context, edit func(m *meta, now uint64) (change, cease bool, err error),
) (int64, error) {
	var mod int64
	for done := false; !done; {
		err := db.again(ctx, func() error {
			resp, err := db.get(ctx, db.keys.meta())
			if err != nil {
				return err
			}
			same, err := db.noNeighbours(ctx, len(resp.Kvs) == 0)
			if err != nil {
				return err
			}
			m := meta{Format: format, Version: db.cfg.Version, Tables: map[string]metaTable{}}
			if mod = 0; len(resp.Kvs) > 0 {
				mod = resp.Kvs[0].ModRevision
				if m, err = parseMeta(resp.Kvs[0]); err != nil {
					return err
				}
			}
			change, cease, err := edit(&m, uint64(resp.Header.Revision))
			if done = !change && mod > 0; err != nil || done {
				return err
			}
			text, err := json.Marshal(m)
			if err != nil {
				return err
			}
			puts := []clientv3.Op{clientv3.OpPut(db.keys.meta(), string(text))}
			if cease {
				puts = append(puts, clientv3.OpPut(db.keys.cease(), ""))
			}
			// Whether it was applied shows in the next round.
			same = append(same, clientv3.Compare(clientv3.ModRevision(db.keys.meta()), "=", mod))
			_, err = db.txn(ctx, same, puts, nil)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return mod, nil
}

// noNeighbours returns an error if the prefix is within that of another database, or first is set, which
// says that there is no database at the prefix yet, and there are keys: of one that is within it,
// maybe. The comparisons say that this is so.
func (db *DB) noNeighbours(ctx context.Context, first bool) (same []clientv3.Cmp, err error) {
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
	if !first {
		return same, nil
	}
	resp, err := db.get(ctx, db.cfg.Prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(1000))
	if err != nil {
		return nil, err
	}
	for _, kv := range resp.Kvs {
		if _, ok := db.keys.slot(string(kv.Key)); !ok { // of a database that was deleted
			return nil, fmt.Errorf("there is no database at Config.Prefix %q, and there is key %q: want a prefix "+
				"that nobody else uses, neither a database whose prefix begins with it", db.cfg.Prefix, kv.Key)
		}
	}
	end := clientv3.GetPrefixRangeEnd(db.cfg.Prefix)
	for from, to := range map[string]string{db.cfg.Prefix: db.keys.slots(),
		clientv3.GetPrefixRangeEnd(db.keys.slots()): end} {
		same = append(same, clientv3.Compare(clientv3.CreateRevision(from), "=", 0).WithRange(to))
	}
	return same, nil
}

// accepts returns a *SchemaError if the program cannot go on with what is kept: it cannot decode
// it, or would lose something of it.
func (db *DB) accepts(m meta) error {
	if err := db.acceptsVersion(m); err != nil {
		return err
	}
	for name, t := range db.schema.tables {
		kept, there := m.Tables[name]
		if !there {
			continue
		}
		if err := db.acceptsTable(name, t, kept); err != nil {
			return err
		}
	}
	return nil
}

// acceptsTable is accepts for what is kept of one table.
func (db *DB) acceptsTable(name string, t table, kept metaTable) error {
	for _, codec := range kept.Codecs {
		if !slices.Contains(t.decodes(), codec) {
			return &SchemaError{Table: name, Kept: codec, Want: t.codec()}
		}
	}
	if t.anyShape() {
		return nil
	}
	if err := db.loses(name, t, kept.Types); err != nil {
		return err
	}
	if err := db.loses(name, t, kept.Wider); err != nil && db.exceeds(name, t, kept.Types) {
		return err // neither of the two would notice that it loses something of the other one
	}
	return nil
}

// acceptsVersion returns a *SchemaError if the program does not take the version of what is kept.
func (db *DB) acceptsVersion(m meta) error {
	if m.Version == db.cfg.Version || slices.Contains(db.cfg.Versions, m.Version) {
		return nil
	}
	return &SchemaError{Kept: fmt.Sprint("version ", m.Version),
		Want: fmt.Sprintf("Config.Version %d, or one of Versions, %d", db.cfg.Version, db.cfg.Versions),
		Err:  &mvcc.VersionError{Saved: m.Version, Version: db.cfg.Version, Versions: db.cfg.Versions}}
}

// loses returns a *SchemaError if something of the types that were kept of a table is not in those of
// the program. That is known of tables without functions of their own.
func (db *DB) loses(name string, t table, was mvcc.BackupTable) error {
	if t.ownValues() || was.ValueShape.IsZero() {
		return nil
	}
	is := db.hooks.Described(name, "json").(mvcc.BackupTable)
	was.KeyShape = is.KeyShape // the codec says what keys are
	err := db.hooks.Misfits(was, is)
	if err == nil {
		return nil
	}
	return &SchemaError{Table: name, Kept: was.ValueShape.String(), Want: is.ValueShape.String(), Err: err}
}

// exceeds reports whether the program has more in a table than some types.
func (db *DB) exceeds(name string, t table, than mvcc.BackupTable) bool {
	if t.ownValues() || than.ValueShape.IsZero() {
		return false
	}
	is := db.hooks.Described(name, "json").(mvcc.BackupTable)
	than.KeyShape = is.KeyShape
	return db.hooks.Misfits(is, than) != nil
}

// narrow notes why this program does not keep all that is kept of a table, if that is so: its commits
// are looked at then, see keepsFields.
func (db *DB) narrow(name string, t table, kept metaTable) {
	err := db.acceptsTable(name, t, kept)
	if err == nil && !t.anyShape() {
		err = db.loses(name, t, kept.Wider)
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

// add adds what the program has, and reports whether something is new, and whether programs that run
// may have less.
func (db *DB) add(m *meta) (news, more bool) {
	if m.Version != db.cfg.Version && !db.cfg.Rolling {
		m.Version, news = db.cfg.Version, true
	}
	for name, t := range db.schema.tables {
		kept, there := m.Tables[name]
		if !slices.Contains(kept.Codecs, t.codec()) {
			kept.Codecs, news = append(kept.Codecs, t.codec()), true
		}
		if kept.Only != "" && kept.Only != t.codec() {
			kept.Only, kept.By, news = "", "", true
		}
		is := db.hooks.Described(name, "json").(mvcc.BackupTable)
		is.ID = 0
		if t.ownValues() {
			is.KeyShape, is.ValueShape = mvcc.Shape{}, mvcc.Shape{}
		}
		unknown := t.ownValues() && !kept.Types.ValueShape.IsZero() // whether it loses something
		exceeds, all := db.exceeds(name, t, kept.Types), db.loses(name, t, kept.Wider) == nil
		switch {
		case !there || !db.cfg.Rolling && !unknown && db.loses(name, t, kept.Types) == nil:
			news = news || !sameTypes(kept.Types, is)
			kept.Types = is
			if all {
				kept.Wider = mvcc.BackupTable{}
			}
		case exceeds && all:
			news = news || !sameTypes(kept.Wider, is)
			kept.Wider = is
		}
		more = more || there && exceeds
		m.Tables[name] = kept
	}
	return news, more
}

func sameTypes(a, b mvcc.BackupTable) bool {
	x, err := json.Marshal(a)
	y, other := json.Marshal(b)
	return err == nil && other == nil && string(x) == string(y)
}

// metaNow looks at what is kept now, if another program has changed that since Open looked.
func (db *DB) metaNow(ctx context.Context) error {
	return db.again(ctx, func() error {
		resp, err := db.get(ctx, db.keys.meta())
		if err != nil || len(resp.Kvs) == 0 || resp.Kvs[0].ModRevision == db.agreed.Load() {
			return err
		}
		return db.metaChanged(resp.Kvs[0])
	})
}

// metaChanged looks at what another program has said that is kept. The error says that this one
// must not write any more.
func (db *DB) metaChanged(kv *mvccpb.KeyValue) error {
	m, err := parseMeta(kv)
	if err != nil {
		return err
	}
	if err := db.acceptsVersion(m); err != nil {
		return err
	}
	for name, t := range db.schema.tables {
		kept, there := m.Tables[name]
		if there && (!slices.Contains(kept.Codecs, t.codec()) || kept.Only != "" && kept.Only != t.codec()) {
			return &SchemaError{Table: name, Kept: fmt.Sprint(kept.Codecs, ", which was written anew"),
				Want: t.codec()}
		}
		db.narrow(name, t, kept)
	}
	db.agreed.Store(kv.ModRevision) // last: from now on it commits what it would not have before
	return nil
}
