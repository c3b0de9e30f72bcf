package bench

import (
	"fmt"
	"slices"
)

// kind is how the operations of a workload are made.
type kind int

const (
	getPut kind = iota
	disjoint
	disjointBatch
	ycsb
	transfer
	counter
	begin
	longReader
	overwrite
	freeBatch
	crowd
)

const manyKeys = 100_000_000

// maxTxnSize bounds the reads and writes of a transaction.
const maxTxnSize = 1_000_000

// Workloads returns the built-in workloads, in the order in which they are
// listed.
func Workloads() []Workload {
	list := append(getPutWorkloads(), ycsbWorkloads()...)
	list = append(list, ownKeyWorkloads()...)
	list = append(list, numberWorkloads()...)
	return append(list, memoryWorkloads()...)
}

// words are values that are 64-bit numbers.
var words = ValueSize{WordSize, WordSize}

// getPutWorkloads get or put one key.
func getPutWorkloads() []Workload {
	const verified = " Verified: no key goes back in time, comes back to a value that was replaced, or shows what nobody wrote to it; each holds somebody's last write at the end."
	hot := func(name string, readPct int) Workload {
		return Workload{
			Name: name,
			Doc: fmt.Sprintf("Hot keys, round robin from a random start: %d %% get, %d %% put, chosen at random and independently of the key.",
				readPct, 100-readPct) + verified,
			Params:  Params{Keys: 4, ReadPct: readPct, Theta: Unset, ValueSize: words, KeyType: StringKeys},
			kind:    getPut,
			minKeys: 1, maxKeys: manyKeys,
		}
	}
	skewed := func(name string, readPct int, theta float64, what string) Workload {
		return Workload{
			Name:    name,
			Doc:     fmt.Sprintf("%s: %d %% get, %d %% put, chosen independently of the key.", what, readPct, 100-readPct) + verified,
			Params:  Params{Keys: 1_000, ReadPct: readPct, Theta: theta, ValueSize: words, KeyType: StringKeys},
			kind:    getPut,
			minKeys: 1, maxKeys: manyKeys,
		}
	}
	const byZipf = "Keys by a Zipf distribution, exact for any theta"
	return []Workload{
		hot("read-heavy", 90),
		hot("balanced", 50),
		hot("write-heavy", 10),
		skewed("zipf-read", 90, 0.9, byZipf),
		skewed("zipf-write", 10, 0.9, byZipf),
		skewed("mixed", 67, 0, "Two reads to a write, keys at random"),
	}
}

// ycsbWorkloads are the core workloads of the Yahoo! Cloud Serving Benchmark that
// do without ordered scans and insertion, several operations to a transaction.
func ycsbWorkloads() []Workload {
	with := func(name string, readPct int, what string) Workload {
		return Workload{
			Name: name,
			Doc: fmt.Sprintf("A transaction of --txn-size operations, each on a key by a Zipf distribution: %s. ", what) +
				"Verified as the gets and puts above, with every byte of the values, and a transaction must read what it has written itself.",
			Params: Params{
				Keys: 1_000_000, ReadPct: readPct, Theta: 0.99,
				TxnSize: 4, ValueSize: ValueSize{100, 100}, KeyType: StringKeys,
			},
			kind:    ycsb,
			minKeys: 1, maxKeys: manyKeys,
			modifies: name == "ycsb-f",
		}
	}
	return []Workload{
		with("ycsb-a", 50, "50 % get, 50 % put"),
		with("ycsb-b", 95, "95 % get, 5 % put"),
		with("ycsb-c", 100, "get"),
		with("ycsb-f", 50, "50 % get, 50 % read-modify-write"),
	}
}

// ownKeyWorkloads touch keys that no other goroutine writes.
func ownKeyWorkloads() []Workload {
	return []Workload{
		{
			Name:   "disjoint",
			Doc:    "Each goroutine puts to a key of its own. One put in 256 is read back, which is not counted, and at the end the key must hold the last.",
			Params: Params{Keys: Unset, ReadPct: Unset, Theta: Unset, ValueSize: words, KeyType: StringKeys},
			kind:   disjoint,
		},
		{
			Name:   "disjoint-batch",
			Doc:    "Each goroutine puts to a key of its own, gets it and asks whether it is there, in one transaction. It must read what it has just put, and at the end the key must hold the last.",
			Params: Params{Keys: Unset, ReadPct: Unset, Theta: Unset, ValueSize: words, KeyType: StringKeys},
			kind:   disjointBatch,
		},
		{
			Name: "free-batch",
			Doc: "Each goroutine has --keys keys of its own, in batches of --txn-size: a transaction deletes a batch, and when all are gone one puts a batch back, and so on. " +
				"Meanwhile an auditor looks at a batch at a time, every --audit-interval, and finds it whole or gone; one transaction in 64 is read back by its goroutine, which is not counted. At the end each key must be there or not as its last transaction left it.",
			Params:  Params{Keys: 10_000, ReadPct: Unset, Theta: Unset, TxnSize: 1_000, ValueSize: words, KeyType: StringKeys},
			kind:    freeBatch,
			minKeys: 1, maxKeys: manyKeys,
		},
	}
}

// numberWorkloads compute with the values.
func numberWorkloads() []Workload {
	return []Workload{
		{
			Name:    "transfer",
			Doc:     "Move an amount between two accounts picked at random: read 2, write 2 in one transaction. Meanwhile an auditor scans all accounts, every --audit-interval, and checks the sum; at the end each account must hold what the transfers make of it.",
			Params:  Params{Keys: 10_000, ReadPct: Unset, Theta: Unset, KeyType: StringKeys},
			kind:    transfer,
			minKeys: 2, maxKeys: manyKeys,
		},
		{
			Name:    "counter",
			Doc:     "Increment a counter by read-modify-write; with several, round robin. No count is handed out twice to a goroutine, and the counts must add up to the committed operations.",
			Params:  Params{Keys: 1, ReadPct: Unset, Theta: Unset, KeyType: StringKeys},
			kind:    counter,
			minKeys: 1, maxKeys: 4,
		},
		{
			Name:    "many-goroutines",
			Doc:     "Increment a counter by read-modify-write, with goroutines by the hundred thousand (--threads 100000) that share --keys counters and take their time (--rate). Verified as counter.",
			Params:  Params{Keys: 1_000, ReadPct: Unset, Theta: Unset, KeyType: StringKeys},
			kind:    crowd,
			minKeys: 1, maxKeys: manyKeys,
			threads: 100_000, rate: 20_000,
		},
		{
			Name:    "begin",
			Doc:     "Begin a read-only transaction and end it, on a map that holds keys, which must be untouched at the end.",
			Params:  Params{Keys: 1_000, ReadPct: Unset, Theta: Unset, KeyType: StringKeys},
			kind:    begin,
			minKeys: 1, maxKeys: manyKeys,
		},
	}
}

// memoryWorkloads show what an open snapshot costs.
func memoryWorkloads() []Workload {
	const reported = " Heap and versions are reported at the start, at their peak and at the end."
	params := Params{Keys: 1_000, ReadPct: Unset, Theta: Unset, ValueSize: words, KeyType: StringKeys}
	return []Workload{
		{
			Name: "long-reader",
			Doc: "Put to keys at random, while one snapshot, opened before the first, stays open all the time: every --audit-interval a few of its keys are read through it, and at the end all, and must be as they were." +
				reported + " Its figures are to be compared with those of overwrite.",
			Params:  params,
			kind:    longReader,
			minKeys: 1, maxKeys: manyKeys,
		},
		{
			Name:    "overwrite",
			Doc:     "The same as long-reader without the snapshot. Verified: each key holds somebody's last write at the end." + reported,
			Params:  params,
			kind:    overwrite,
			minKeys: 1, maxKeys: manyKeys,
		},
	}
}

// WorkloadByName returns the built-in workload called name.
func WorkloadByName(name string) (Workload, bool) {
	all := Workloads()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return all[i], true
}
