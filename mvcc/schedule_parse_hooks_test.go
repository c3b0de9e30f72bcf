//go:build mvcccheck

package mvcc

import (
	"fmt"
	"strings"
)

// parseOperation reads an operation from its text:
//
//	load a, store a, swap a, loadOrStore a, loadAndDelete a, delete a, compute a
//	cas a=2         CompareAndSwap from the value 2
//	view ra rb      a snapshot that reads a, then b
//	view scan       a snapshot that reads all keys by All, or in order
//	update len wb   a transaction that counts all keys, of one map, before it writes
//	view pb         a snapshot that reads the keys up to b, in order
//	view x          a snapshot that reads all keys by the index, if that is complete
//	index           the index is made
//	follow; hand    a watch of all keys begins; the commits are handed on
//	expire; thin    records expire from now on; the notes of that are looked at
//	refuse          the noted keys are taken for due, and OnExpire refuses to let them go
//	rest            the ticker stops, if nothing is due
//	past ra rb      a snapshot of the beginning, if it can be had
//	update ra wb dc a serializable transaction that reads a, writes b, deletes c
//	update ma ub    one that merges a, and reads b for update
//	snapshot ra wa  the same at snapshot level
//	alarmed ra wa    a serializable transaction with an alarm from the first
//	retry ra wa     the same by Update, with two attempts
//	clear           all keys are deleted
//	grow, shrink    the keys move to a table of twice or half as many buckets; beside it nobody
//	                may insert a key or remove one: that waits for the bucket
//	prune           a new view, and all keys are pruned with it
//	refresh         a new view
//
// id is the value that it writes.
func parseOperation(text string, id int) (*operation, error) {
	o := &operation{text: text, id: id, level: serializable}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, fmt.Errorf("empty operation")
	}
	key := func(word string) (int, error) {
		for i, k := range programKeys {
			if word == k {
				return i, nil
			}
		}
		return 0, fmt.Errorf("operation %q: no key %q", text, word)
	}
	if kind, ok := bareKinds[words[0]]; ok {
		o.kind = kind
		return o, nil
	}
	switch words[0] {
	case "view":
		o.kind = opView
	case "past":
		o.kind = opPast
	case "update":
		o.kind = opUpdate
	case "snapshot":
		o.kind, o.level = opUpdate, snapshot
	case "alarmed":
		o.kind, o.alarmed = opUpdate, true
	case "retry":
		o.kind, o.retry = opUpdate, true
	default:
		kind, ok := oneKeyKinds[words[0]]
		if !ok || len(words) != 2 {
			return nil, fmt.Errorf("operation %q is not known", text)
		}
		name, old, compares := strings.Cut(words[1], "=")
		if compares != (kind == opCompareAndSwap) {
			return nil, fmt.Errorf("operation %q: a value to compare with?", text)
		}
		if compares {
			if _, err := fmt.Sscan(old, &o.old); err != nil {
				return nil, fmt.Errorf("operation %q: %w", text, err)
			}
		}
		var err error
		o.kind = kind
		o.key, err = key(name)
		return o, err
	}
	for _, word := range words[1:] {
		if word == "scan" || word == "x" || word == "len" {
			o.acts = append(o.acts, act{do: word[0]})
			continue
		}
		k, err := key(word[1:])
		if err != nil || !strings.Contains("ruwmdp", word[:1]) ||
			o.kind == opPast && word[0] != 'r' || o.kind == opView && word[0] != 'r' && word[0] != 'p' {
			return nil, fmt.Errorf("operation %q: what is %q?", text, word)
		}
		o.acts = append(o.acts, act{word[0], k})
	}
	return o, nil
}
