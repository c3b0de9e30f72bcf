// Package workfile reads the files that describe workloads of mvccbench: tables, keys by
// distribution, operations of several steps, and what must stay true. docs/workloads.md describes
// the format. The package runs nothing; package bench does.
package workfile

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
)

// A File is a workload as a file describes it.
type File struct {
	Name, Doc, Source string
	Isolation         string // "" if the file does not say
	Params            Params
	Tables            []Table
	Draws             []Draw
	Operations        []Operation
	Invariants        []Invariant
	Trace             *Trace // instead of operations; nil if there is none

	// Sum tells files apart that do different work: it does not depend on Name, Doc and Source.
	Sum string
}

// Params are the parameters that a file has, with their defaults; a flag of mvccbench can set each.
type Params struct {
	Keys      int     // 0: none
	Theta     float64 // negative: none
	TxnSize   int     // 0: none
	ValueSize Size    // of Max 0: none
}

// The slots that every operation's variables begin with.
const (
	SlotKeys    = iota // the parameter keys
	SlotKey            // in expressions over the records of a table: the number of the key
	firstOfVars        // the variables of an operation
)

// A Size is how large values are, in bytes.
type Size struct {
	Min, Max int
	Theta    float64 // of the Zipf distribution over the sizes; 0 is uniform
	Param    bool    // it is the parameter value-size
}

// A Table has records. A record has a number, and bytes if its size says so.
type Table struct {
	Name    string
	Strings bool // keys are strings, else whole numbers
	Ordered bool // a step reads a range of it
	Hashed  bool // the order of keys is not that of their numbers
	Records *Expr
	Present *Expr // whether a record is there at first, by the number of its key; nil: all are
	Number  *Expr // the number of a record at first, likewise; nil: none ever has one
	Size    Size  // of Max 0: records have no bytes

	Grows   bool // steps may insert any key above those that there are at first
	Inserts bool // a step gives it new keys
	Deletes bool // a record may be absent
	Puts    bool // a step writes records, there or not, without a look
	Blind   bool // and these have numbers
}

// The kinds of [Draw].
const (
	Uniform = "uniform"
	Zipf    = "zipf"
	Latest  = "latest"
	Hot     = "hot"
	NURand  = "nurand"
)

// A Draw draws whole numbers: from From to To, or the numbers of the keys of a table.
type Draw struct {
	Name      string
	Table     int // -1: none
	From, To  *Expr
	By        string
	Theta     float64 // negative: the parameter theta
	Scrambled bool    // ranks are spread over the numbers
	Share     float64 // hot: the part of the numbers that is
	Of        float64 // hot: the part of the draws that goes there
	Moves     int64   // hot: after so many draws of a goroutine the set is the next; 0: never
	A         int64   // nurand
	Line      int
}

// An Operation is one transaction.
type Operation struct {
	Name     string
	Weight   int
	Vars     []Var
	Steps    []Step
	Slots    int // of all variables
	Repeated int // how many variables are drawn in repeats
	ReadOnly bool
}

// A Var is a variable that is drawn or computed before the transaction begins.
type Var struct {
	Slot int
	Draw int   // -1: by Expr
	Expr *Expr // nil: by Draw
	Not  int   // the slot of a variable that has another value; -1: none
}

// A Kind is what a [Step] does.
type Kind string

// The kinds.
const (
	Get    Kind = "get"
	Put    Kind = "put"
	Insert Kind = "insert"
	Modify Kind = "modify"
	Add    Kind = "add"
	Delete Kind = "delete"
	Range  Kind = "range"
	Let    Kind = "let"
	End    Kind = "end"
	// Rollback ends the operation, and nothing that has been written stays.
	Rollback Kind = "rollback"
	// Repeat does further steps, several times.
	Repeat Kind = "repeat"
)

// A Step is what an operation does.
type Step struct {
	Kind  Kind
	Table int
	Key   *Expr // nil: a new key
	Value *Expr // the number to write, what to add, what a variable is, how often to repeat; may be nil
	Count *Expr // of records in a range
	If    *Expr // whether to do it; nil: yes
	Line  int

	// Slots for what has been read; -1: none. As is the number, or how many records a range has, or
	// how often steps have been repeated before; Found is whether there was a record; Sum is over the
	// numbers of a range.
	As, Found, Sum int

	// Of a repeat: its steps, and what is drawn anew each time. First is the number of the first of
	// its variables among those of all repeats of the operation.
	Steps []Step
	Vars  []Var
	First int
}

// Each calls visit for each step of the operation, and for those within them.
func (op *Operation) Each(visit func(s *Step)) { each(op.Steps, visit) }

func each(steps []Step, visit func(s *Step)) {
	for i := range steps {
		visit(&steps[i])
		each(steps[i].Steps, visit)
	}
}

// RollsBack reports whether an operation may be rolled back.
func (f *File) RollsBack() (does bool) {
	for i := range f.Operations {
		f.Operations[i].Each(func(s *Step) { does = does || s.Kind == Rollback })
	}
	return does
}

// The kinds of what an [Invariant] compares.
const (
	Sum   = "sum"
	Count = "count"
)

// An Aggregate is over all records of some tables.
type Aggregate struct {
	Kind   string
	Tables []int
}

// An Invariant is true in every snapshot.
type Invariant struct {
	Text   string
	AtEnd  bool // it is looked at when all is over, and not meanwhile
	Left   Aggregate
	Equals *Expr      // what Left is; nil: Right
	Right  *Aggregate // nil: if Equals is nil too, what Left was at first
}

// A Trace is a file of operations to repeat.
type Trace struct {
	File  string
	Order bool // goroutines take operations in their order, else those of their keys
}

// Audited reports whether an invariant is looked at while the workload runs.
func (f *File) Audited() bool {
	for i := range f.Invariants {
		if !f.Invariants[i].AtEnd {
			return true
		}
	}
	return false
}

// Plain reports whether f needs no more of an engine than what has keys that are strings and
// values that are not looked into: one table, and steps that do not depend on what others read.
func (f *File) Plain() bool {
	if f.Trace != nil || len(f.Tables) != 1 || len(f.Invariants) > 0 {
		return false
	}
	t := &f.Tables[0]
	if !t.Strings || t.Present != nil || t.Number != nil || t.Size.Max == 0 || t.Deletes {
		return false
	}
	for i := range f.Operations {
		op := &f.Operations[i]
		for j := range op.Steps {
			s := &op.Steps[j]
			switch s.Kind {
			case Get, Put, Modify:
			case Insert:
				if s.Key != nil {
					return false
				}
			case Range:
				if len(op.Steps) > 1 || f.Params.TxnSize > 0 || f.newest(op, s.Key) {
					return false
				}
			default:
				return false
			}
			if s.If != nil || s.As >= 0 || s.Kind == Modify && f.newest(op, s.Key) {
				return false
			}
		}
	}
	return true
}

// newest reports whether a key may be one that is about to be inserted.
func (f *File) newest(op *Operation, key *Expr) bool {
	if key.Slot < 0 {
		return true
	}
	for _, v := range op.Vars {
		if v.Slot == key.Slot {
			return v.Draw < 0 || f.Draws[v.Draw].By == Latest
		}
	}
	return true
}

// OneKey reports whether each operation of a plain file is about one key.
func (f *File) OneKey() bool {
	for i := range f.Operations {
		if len(f.Operations[i].Steps) > 1 {
			return false
		}
	}
	return true
}

// Parse reads the file called name, which has the given data. An error says in which line
// something is wrong, and what was expected.
func Parse(name string, data []byte) (f *File, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case problem:
			f, err = nil, fmt.Errorf("%s:%d: %s", name, p.line, p.text)
		default:
			panic(p)
		}
	}()
	f = (&reader{file: new(File)}).read(treeOf(data))
	return f, nil
}

// sumOf returns a sum over what a file does.
func sumOf(root *node) string {
	h := sha256.New()
	var add func(n *node)
	add = func(n *node) {
		fmt.Fprintf(h, "%T %v %d %d;", n.value, n.value, len(n.list), len(n.members))
		for _, item := range n.list {
			add(item)
		}
		for _, m := range n.members {
			fmt.Fprintf(h, "%q:", m.name)
			add(m.value)
		}
	}
	for _, m := range root.members {
		if m.name != "name" && m.name != "doc" && m.name != "source" {
			fmt.Fprintf(h, "%q:", m.name)
			add(m.value)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

//go:embed files/*.json
var shipped embed.FS

// order is that in which the shipped files are listed.
var order = []string{
	"ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f", "smallbank", "tatp", "tpcc",
}

// Shipped returns the files that the program has within it. They are made anew.
func Shipped() (list []*File) {
	for _, name := range order {
		f, err := Parse(name+".json", Data(name))
		if err != nil {
			panic(err) // a test parses all
		}
		list = append(list, f)
	}
	return list
}

// Data returns the text of a shipped file, nil if there is none of that name.
func Data(name string) []byte {
	data, err := shipped.ReadFile(path.Join("files", name+".json"))
	if err != nil {
		return nil
	}
	return data
}
