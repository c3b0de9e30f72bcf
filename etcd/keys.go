package etcd

import (
	"fmt"
	"strings"
)

// keys are the names of what is kept in etcd, all under one prefix:
//
//	t/<table>/<key>           a record
//	g/<table>/<class>         the guard of a table: put by each commit that writes there, of a process of
//	                          the class, see index.go
//	d/<table>                 the guard of its deletions: put by each commit that deletes there
//	x/<table>/<index>/<hash>  the guard of some index keys: put by each commit by which a record enters or
//	                          leaves one
//	s/<process>/<number>      a slot: which commits of a process have an outcome
//	l/<task>                  which process does a task for all, with a lease
//	m                         what is kept, and how
//
// Guards are never deleted: a comparison "changed after revision R" holds for no key that is gone.
type keys struct{ prefix string }

const (
	recordsAt = "t/"
	guardsAt  = "g/"
	deletesAt = "d/"
	indexesAt = "x/"
	slotsAt   = "s/"
	tasksAt   = "l/"
	metaAt    = "m"
)

func (k keys) records() string             { return k.prefix + recordsAt }
func (k keys) table(table string) string   { return k.prefix + recordsAt + table + "/" }
func (k keys) allGuards() string           { return k.prefix + guardsAt }
func (k keys) guards(table string) string  { return k.prefix + guardsAt + table + "/" }
func (k keys) deletes(table string) string { return k.prefix + deletesAt + table }
func (k keys) slots() string               { return k.prefix + slotsAt }
func (k keys) task(task string) string     { return k.prefix + tasksAt + task }
func (k keys) meta() string                { return k.prefix + metaAt }

func (k keys) guard(table, class string) string { return k.guards(table) + class }

func (k keys) index(table, index string, bucket uint16) string {
	return fmt.Sprintf("%s%s%s/%s/%04x", k.prefix, indexesAt, table, index, bucket)
}

// record returns the table and the encoded key of a record's name.
func (k keys) record(name string) (table, key string, ok bool) {
	rest, ok := strings.CutPrefix(name, k.records())
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// guarded returns the table and the class of a guard's name, with a slash in between.
func (k keys) guarded(name string) (of string, ok bool) {
	return strings.CutPrefix(name, k.allGuards())
}

// tableOf returns the table of what guarded returns.
func tableOf(guard string) string {
	table, _, _ := strings.Cut(guard, "/")
	return table
}
