package etcd

import "strings"

// keys are the names of what is kept in etcd, all under one prefix:
//
//	t/<table>/<key>       a record
//	g/<table>             the guard of a table: put by each commit that writes there
//	d/<table>             the guard of its deletions: put by each commit that deletes there
//	s/<process>/<number>  a slot: which commits of a process have an outcome
//	m                     what is kept, and how
//
// Guards are never deleted: a comparison "changed after revision R" holds for no key that is gone.
type keys struct{ prefix string }

const (
	recordsAt = "t/"
	guardsAt  = "g/"
	deletesAt = "d/"
	slotsAt   = "s/"
	metaAt    = "m"
)

func (k keys) records() string             { return k.prefix + recordsAt }
func (k keys) table(table string) string   { return k.prefix + recordsAt + table + "/" }
func (k keys) guards() string              { return k.prefix + guardsAt }
func (k keys) guard(table string) string   { return k.prefix + guardsAt + table }
func (k keys) deletes(table string) string { return k.prefix + deletesAt + table }
func (k keys) slots() string               { return k.prefix + slotsAt }
func (k keys) meta() string                { return k.prefix + metaAt }

// record returns the table and the encoded key of a record's name.
func (k keys) record(name string) (table, key string, ok bool) {
	rest, ok := strings.CutPrefix(name, k.records())
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// guarded returns the table of a guard's name.
func (k keys) guarded(name string) (table string, ok bool) {
	return strings.CutPrefix(name, k.guards())
}
