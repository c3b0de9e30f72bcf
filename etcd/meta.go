package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/backupfile"
	"github.com/mvccmap/mvccmap/internal/seam/door"
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
	// Types are those of the records, of the program that has most in them.
	Types backupfile.TableHeader `json:"types"`
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
		return db.add(m) || now <= db.local.Epoch()+1, version, nil
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
			same := clientv3.Compare(clientv3.ModRevision(db.keys.meta()), "=", mod)
			_, err = db.txn(ctx, []clientv3.Cmp{same}, puts, nil)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return mod, nil
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
	return db.loses(name, t, kept)
}

// acceptsVersion returns a *SchemaError if the program does not take the version of what is kept.
func (db *DB) acceptsVersion(m meta) error {
	if m.Version == db.cfg.Version || slices.Contains(db.cfg.Versions, m.Version) {
		return nil
	}
	return &SchemaError{Kept: fmt.Sprint("version ", m.Version),
		Want: fmt.Sprintf("Config.Version %d, or one of Versions, %d", db.cfg.Version, db.cfg.Versions),
		Err:  &durable.VersionError{Saved: m.Version, Version: db.cfg.Version, Versions: db.cfg.Versions}}
}

// loses returns a *SchemaError if something of what is kept of a table is not in the types of the
// program. That is known of tables without functions of their own.
func (db *DB) loses(name string, t table, kept metaTable) error {
	if t.ownValues() || kept.Types.ValueShape.IsZero() {
		return nil
	}
	is := db.described(name)
	was := kept.Types
	was.KeyShape = is.KeyShape // the codec says what keys are
	lost, fits := was.Lost(is)
	if fits {
		return nil
	}
	return &SchemaError{Table: name, Kept: was.ValueShape.String(), Want: is.ValueShape.String(),
		Err: &durable.SchemaError{Table: name, Saved: [2]string{was.Key, was.Value},
			Is: [2]string{is.Key, is.Value}, Lost: lost}}
}

// described returns what is said of the types of a table.
func (db *DB) described(name string) backupfile.TableHeader {
	return backupfile.Describe(door.Of(db.local).Table(name), "json")
}

// add adds what the program has, and reports whether something is new.
func (db *DB) add(m *meta) (news bool) {
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
		is := db.described(name)
		is.ID = 0
		if t.ownValues() {
			is.KeyShape, is.ValueShape = backupfile.Shape{}, backupfile.Shape{}
		}
		unknown := t.ownValues() && !kept.Types.ValueShape.IsZero() // whether it loses something
		if !there || !db.cfg.Rolling && !unknown && db.loses(name, t, kept) == nil {
			news = news || !sameTypes(kept.Types, is)
			kept.Types = is
		}
		m.Tables[name] = kept
	}
	return news
}

func sameTypes(a, b backupfile.TableHeader) bool {
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
		err := db.acceptsTable(name, t, kept)
		if err == nil {
			db.less.Delete(name)
			continue
		}
		db.less.Store(name, err)
		db.cfg.Logger.Warn("etcd: a program was opened that keeps more than this one: what this one writes "+
			"loses it", "prefix", db.cfg.Prefix, "error", err)
	}
	db.agreed.Store(kv.ModRevision) // last: from now on it commits what it would not have before
	return nil
}
