package profiling

import (
	"encoding"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mvccmap/mvccmap/mvcc"
	"github.com/mvccmap/mvccmap/profiling/internal/web"
)

// Bounds of one page of records: how many it shows, how many it looks at to find these, and how
// many bytes of a key or a value it shows.
const (
	defaultRecords = 50
	maxRecords     = 1000
	maxLooked      = 100_000
	maxText        = 4000
)

// A recordPage is some records of a table as of one moment.
type recordPage struct {
	Database string     `json:"database"`
	Table    string     `json:"table"`
	Epoch    uint64     `json:"epoch"`
	Records  []textPair `json:"records"`
	// More: there may be others. Next is the key to go on from, if the keys have an order.
	More bool   `json:"more"`
	Next string `json:"next,omitempty"`

	table mvcc.TableInfo
	limit int
}

type textPair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// records shows records of a table: of one key, of those that begin with a prefix, from a key on,
// or any.
func (s *Service) records(w http.ResponseWriter, r *http.Request) error {
	if !s.cfg.Records {
		return web.Refuse(http.StatusForbidden, "records are not shown: see Config.Records")
	}
	query := r.URL.Query()
	name := query.Get("database")
	db := s.cfg.Data[name]
	if db == nil {
		return web.NotFound("there is no database %q", name)
	}
	tables := db.Describe().Tables
	i := slices.IndexFunc(tables, func(t mvcc.TableInfo) bool { return t.Name == query.Get("table") })
	if i < 0 {
		return web.NotFound("the database %q has no table %q", name, query.Get("table"))
	}
	page := recordPage{Database: name, Table: tables[i].Name, table: tables[i], limit: defaultRecords,
		Records: []textPair{}}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxRecords {
			return web.Bad("limit must be a number from 1 to %d, not %q", maxRecords, text)
		}
		page.limit = n
	}
	asJSON, err := web.AsksJSON(query)
	if err != nil {
		return err
	}
	snapshot, err := snapshotFor(db, query)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	page.Epoch = snapshot.Epoch()
	// The snapshot may be evicted, or be older than the table, or than its end.
	err = snapshot.Try(func() error {
		if !slices.Contains(snapshot.Tables(), page.Table) {
			return web.NotFound("at epoch %d there was no table %q", page.Epoch, page.Table)
		}
		return page.fill(snapshot, query)
	})
	if errors.Is(err, mvcc.ErrTxTooOld) {
		return web.Refuse(http.StatusServiceUnavailable,
			"it took longer than Options.MaxTxAge: ask for fewer records")
	}
	if err != nil {
		return err
	}
	if asJSON {
		return web.JSON(w, page)
	}
	next := url.Values{}
	if page.Next != "" {
		next = url.Values{"database": {page.Database}, "table": {page.Table}, "from": {page.Next},
			"prefix": query["prefix"], "limit": {strconv.Itoa(page.limit)},
			"epoch": {strconv.FormatUint(page.Epoch, 10)}}
	}
	frame := s.frame("Records of "+page.Table, "data", "../")
	return web.Page(w, http.StatusOK, "records.html", frame, web.Data{
		"At": page, "Table": page.table, "Key": query.Get("key"), "Prefix": query.Get("prefix"),
		"From": query.Get("from"), "Limit": page.limit, "Next": next.Encode(), "Looked": maxLooked,
	})
}

// snapshotFor returns a snapshot of the epoch that the query asks for, or of now.
func snapshotFor(db *mvcc.DB, query url.Values) (mvcc.DBSnapshot, error) {
	text := query.Get("epoch")
	if text == "" {
		return db.Snapshot(), nil
	}
	epoch, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return mvcc.DBSnapshot{}, web.Bad("epoch must be a number, not %q", text)
	}
	s, err := db.SnapshotAt(epoch)
	if errors.Is(err, mvcc.ErrEpochGone) {
		return db.Snapshot(), nil // the page says of which moment it is
	}
	return s, err
}

// fill finds the records.
func (p *recordPage) fill(s mvcc.DBSnapshot, query url.Values) error {
	if query.Has("key") && query.Get("key") != "" {
		key, err := parseKey(p.table.Key, query.Get("key"))
		if err != nil {
			return err
		}
		if value, ok := s.Record(p.Table, key); ok {
			p.Records = append(p.Records, pairOf(key, value))
		}
		return nil
	}
	prefix := query.Get("prefix")
	sorted := p.table.Natural && p.table.Key.Kind() == reflect.String
	var from any
	switch text := query.Get("from"); {
	case text != "" && !p.table.Ordered:
		return web.Bad("the keys of table %q have no order: from is not for it", p.Table)
	case text != "":
		key, err := parseKey(p.table.Key, text)
		if err != nil {
			return err
		}
		from = key
	case prefix != "" && sorted:
		from = reflect.ValueOf(prefix).Convert(p.table.Key).Interface()
	}
	looked := 0
	for key, value := range s.Records(p.Table, from) {
		text, fits := keyText(key), false
		if fits = strings.HasPrefix(text, prefix); !fits && sorted {
			return nil
		}
		if looked++; looked > maxLooked || len(p.Records) == p.limit {
			p.More = true
			if p.table.Ordered && parseable(p.table.Key) {
				p.Next = text
			}
			return nil
		}
		if fits {
			p.Records = append(p.Records, pairOf(key, value))
		}
	}
	return nil
}

func pairOf(key, value any) textPair {
	return textPair{shortened(keyText(key)), shortened(fmt.Sprintf("%+v", value))}
}

// keyText returns what parseKey reads, if it can read such keys.
func keyText(key any) string {
	if by, ok := key.(encoding.TextMarshaler); ok {
		if text, err := by.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprintf("%+v", key)
}

// shortened returns text as JSON and pages can have it, and not too much.
func shortened(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > maxText {
		return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:maxText], ""), len(text))
	}
	return text
}

// parseable reports whether parseKey can read the text of keys of type t.
func parseable(t reflect.Type) bool {
	out, in := t.Implements(marshaler), reflect.PointerTo(t).Implements(unmarshaler)
	k := t.Kind()
	basic := k == reflect.String || reflect.Bool <= k && k <= reflect.Float64
	return out && in || basic && !out && !in
}

var (
	marshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// parseKey returns the key of type t that text says.
func parseKey(t reflect.Type, text string) (any, error) {
	v := reflect.New(t)
	if by, ok := v.Interface().(encoding.TextUnmarshaler); ok {
		if err := by.UnmarshalText([]byte(text)); err != nil {
			return nil, web.Bad("%q is no key of type %v: %v", text, t, err)
		}
		return v.Elem().Interface(), nil
	}
	var err error
	switch to := v.Elem(); t.Kind() {
	case reflect.String:
		to.SetString(text)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		to.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(text, 10, t.Bits())
		to.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		var n uint64
		n, err = strconv.ParseUint(text, 10, t.Bits())
		to.SetUint(n)
	case reflect.Float32, reflect.Float64:
		var f float64
		f, err = strconv.ParseFloat(text, t.Bits())
		to.SetFloat(f)
	default:
		return nil, web.Refuse(http.StatusNotImplemented,
			"keys of type %v cannot be read from text; use prefix, which compares what is shown", t)
	}
	if err != nil {
		return nil, web.Bad("%q is no key of type %v", text, t)
	}
	return v.Elem().Interface(), nil
}
