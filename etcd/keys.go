package etcd

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// keys are the names of the keys in etcd, all under one prefix:
//
//	t/<table>/<key>           a record
//	g/<table>/<class>         the guard of a table: put by each commit that writes there, of a
//	                          process of the class, see index.go
//	x/<table>/<index>/<hash>  the guard of some index keys: put by each commit by which a record
//	                          enters or leaves one
//	m                         the meta: the version, and the tables and their encodings
//	a/<process>/<number>      a slot: which attempts of a process to commit have an outcome
//	c                         put with m if programs that run may have to stop: each commit
//	                          compares it
//	d/<table>                 the guard of the deletions of a table: put by each commit that
//	                          deletes there
//	e/<task>//<lease>         a process that does a task for all, or waits for that, with a lease
//	f/<revision>              a mark: its lease says for how long there has been this revision, see
//	                          janitor.go
//
// Guards are never deleted: a comparison "changed after revision R" holds for no key that is gone.
// The last five stand before the others, outside of the range that replicas watch: nobody needs to
// be told of them.
type keys struct{ prefix string }

const (
	recordsAt = "t/"
	guardsAt  = "g/"
	indexesAt = "x/"
	metaAt    = "m"
	slotsAt   = "a/"
	ceaseAt   = "c"
	deletesAt = "d/"
	tasksAt   = "e/"
	marksAt   = "f/"
)

// watched returns from where to where the keys are that replicas watch, the latter not included.
func (k keys) watched() (from, to string) {
	return k.prefix + guardsAt, clientv3.GetPrefixRangeEnd(k.prefix)
}

func (k keys) records() string             { return k.prefix + recordsAt }
func (k keys) table(table string) string   { return k.prefix + recordsAt + table + "/" }
func (k keys) allGuards() string           { return k.prefix + guardsAt }
func (k keys) guards(table string) string  { return k.prefix + guardsAt + table + "/" }
func (k keys) deletes(table string) string { return k.prefix + deletesAt + table }
func (k keys) slots() string               { return k.prefix + slotsAt }
func (k keys) task(task string) string     { return k.prefix + tasksAt + task + "/" }
func (k keys) marks() string               { return k.prefix + marksAt }
func (k keys) meta() string                { return k.prefix + metaAt }
func (k keys) cease() string               { return k.prefix + ceaseAt }

func (k keys) guard(table, class string) string { return k.guards(table) + class }

func (k keys) index(table, index string, bucket uint16) string {
	return fmt.Sprintf("%s%s%s/%s/%04x", k.prefix, indexesAt, table, index, bucket)
}

// above returns the names that the meta of databases have within whose prefixes this one is.
func (k keys) above() (list []string) {
	for i := range len(k.prefix) - 1 {
		if k.prefix[i] == '/' {
			list = append(list, k.prefix[:i+1]+metaAt)
		}
	}
	return list
}

// slotName is the form of the names of slots.
var slotName = regexp.MustCompile(`^[0-9a-f]{16}/[0-9]+/[0-9a-zµ.]+$`)

// slot reports whether a name is that of a slot, and returns its age, see [Config.SlotAge].
func (k keys) slot(name string) (age time.Duration, ok bool) {
	rest, ok := strings.CutPrefix(name, k.slots())
	if !ok || !slotName.MatchString(rest) {
		return 0, false
	}
	age, err := time.ParseDuration(rest[strings.LastIndexByte(rest, '/')+1:])
	return age, err == nil && age > 0
}

// newest are the options that ask for the key that was put last, from allGuards on, among the guards
// of tables and the meta.
func (k keys) newest() []clientv3.OpOption {
	return []clientv3.OpOption{clientv3.WithRange(k.meta() + "\x00"), clientv3.WithKeysOnly(),
		clientv3.WithLimit(1), clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortDescend)}
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

// tableOf returns the table of a name that guarded returns.
func tableOf(guard string) string {
	table, _, _ := strings.Cut(guard, "/")
	return table
}
