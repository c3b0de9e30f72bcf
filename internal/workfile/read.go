package workfile

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// The bounds of what a file may ask for.
const (
	MaxKeys  = 100_000_000
	MaxSize  = 1 << 20
	MinSize  = 8 // of values that say who wrote them
	maxRange = 1_000_000
	maxList  = 1_000 // tables, draws, operations, steps
)

// reader makes a [File] of a tree.
type reader struct {
	file *File
}

var (
	goodName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	goodWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// reserved are names that expressions have of their own.
var reserved = []string{"keys", "key", "new", "hash", "min", "max"}

func (r *reader) read(root *node) *File {
	f := r.file
	const what = "a workload"
	root.object(what, "name", "doc", "source", "isolation", "params", "tables", "draws", "operations",
		"invariants", "trace")
	need := func(name string) *node {
		n := root.get(name)
		if n == nil {
			fail(root.line, "%s: expected a field %q", what, name)
		}
		return n
	}
	name := need("name")
	if f.Name = name.text("name"); !goodName.MatchString(f.Name) || len(f.Name) > 60 {
		fail(name.line, "name: expected lower-case letters, digits and single dashes, such as "+
			`"my-bank", not %v`, name)
	}
	if n := root.get("doc"); n != nil {
		f.Doc = n.text("doc")
	}
	if n := root.get("source"); n != nil {
		f.Source = n.text("source")
	}
	if n := root.get("isolation"); n != nil {
		if f.Isolation = n.text("isolation"); f.Isolation != "serializable" && f.Isolation != "snapshot" {
			fail(n.line, `isolation: expected "serializable" or "snapshot", not %v`, n)
		}
	}
	r.params(root.get("params"))
	f.Sum = sumOf(root)
	if n := root.get("trace"); n != nil {
		for _, other := range []string{"tables", "draws", "operations", "invariants"} {
			if m := root.get(other); m != nil {
				fail(m.line, "%s: expected none beside a trace, whose operations they would be", other)
			}
		}
		r.trace(n)
		return f
	}
	r.tables(need("tables"))
	if n := root.get("draws"); n != nil {
		r.draws(n)
	}
	r.operations(need("operations"))
	if n := root.get("invariants"); n != nil {
		r.invariants(n)
	}
	if f.Params.TxnSize > 0 && !f.Plain() {
		fail(root.get("params").get("txn-size").line, "txn-size: expected one table with keys that are "+
			"strings, and only get, put, modify and insert of new keys; else write the steps of each "+
			"transaction out")
	}
	return f
}

func (r *reader) params(n *node) {
	p := &r.file.Params
	p.Theta = -1
	if n == nil {
		return
	}
	for _, m := range n.object("params", "keys", "theta", "txn-size", "value-size") {
		switch m.name {
		case "keys":
			p.Keys = int(m.value.whole(m.name, 1, MaxKeys))
		case "theta":
			p.Theta = m.value.real(m.name, 0, 10)
		case "txn-size":
			p.TxnSize = int(m.value.whole(m.name, 1, maxRange))
		case "value-size":
			p.ValueSize = r.size(m.value)
			if p.ValueSize.Max < MinSize {
				fail(m.value.line, "value-size: expected %d bytes or more", MinSize)
			}
		}
	}
}

// size reads 100, "100-200", or an object.
func (r *reader) size(n *node) Size {
	const what = "size"
	bytes := func(n *node) int { return int(n.whole(what, 0, MaxSize)) }
	s := Size{}
	switch v := n.value.(type) {
	case object:
		n.object(what, "from", "to", "theta")
		from, to := n.get("from"), n.get("to")
		if from == nil || to == nil {
			fail(n.line, `size: expected "from" and "to", and "theta" if it is not uniform`)
		}
		s.Min, s.Max = bytes(from), bytes(to)
		if theta := n.get("theta"); theta != nil {
			s.Theta = theta.real("theta", 0, 10)
		}
	case string:
		if v == "value-size" {
			s = r.file.Params.ValueSize
			if s.Max == 0 {
				fail(n.line, `size: expected a parameter "value-size" in "params"`)
			}
			s.Param = true
			return s
		}
		low, high, ok := strings.Cut(v, "-")
		if !ok {
			high = low
		}
		a, err1 := strconv.Atoi(low)
		b, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil {
			fail(n.line, `size: expected bytes, such as 100 or "16-1024", "value-size", or an object with `+
				`"from", "to" and "theta", not %v`, n)
		}
		s.Min, s.Max = a, b
	default:
		s.Min = bytes(n)
		s.Max = s.Min
	}
	if s.Min < MinSize && s.Max > 0 || s.Max < s.Min || s.Max > MaxSize {
		fail(n.line, "size: expected 0, or from %d to %d bytes, the smaller first, not %v", MinSize, MaxSize,
			n)
	}
	return s
}

// declared checks the name of a table, draw, operation or variable.
func declared(what string, m member, i int) {
	if !goodWord.MatchString(m.name) || len(m.name) > 60 {
		fail(m.line, "%s: expected a name of letters, digits and _, not %q", what, m.name)
	}
	if contains(reserved, m.name) {
		fail(m.line, "%s: expected another name than %q, which means something in expressions", what,
			m.name)
	}
	if i >= maxList {
		fail(m.line, "%s: expected at most %d", what, maxList)
	}
}

// overParams is the scope of the parameters, and overKey that of the parameters and key.
func (r *reader) overParams(name string) (variable, bool) {
	return variable{slot: SlotKeys, constant: true}, name == "keys" && r.file.Params.Keys > 0
}

func (r *reader) overKey(name string) (variable, bool) {
	if name == "key" {
		return variable{slot: SlotKey}, true
	}
	return r.overParams(name)
}

// expr reads a number, or an expression.
func (r *reader) expr(what string, n *node, s scope) *Expr {
	if text, ok := n.value.(string); ok {
		return compile(n.line, what, text, s)
	}
	return Constant(n.whole(what, math.MinInt64, math.MaxInt64))
}

func (r *reader) tables(n *node) {
	members := n.object("tables")
	if len(members) == 0 {
		fail(n.line, "tables: expected one or more")
	}
	for i, m := range members {
		declared("tables", m, i)
		what := fmt.Sprintf("table %s", m.name)
		m.value.object(what, "key", "records", "present", "number", "size", "order", "grows")
		t := Table{Name: m.name}
		if key := m.value.get("key"); key != nil {
			switch key.text(what + ": key") {
			case "int":
			case "string":
				t.Strings = true
			default:
				fail(key.line, `%s: key: expected "int" or "string", not %v`, what, key)
			}
		}
		records := m.value.get("records")
		if records == nil {
			fail(m.line, `%s: expected "records": how many keys there are`, what)
		}
		t.Records = r.expr(what+": records", records, r.overParams)
		if n := m.value.get("present"); n != nil {
			t.Present, t.Deletes = r.expr(what+": present", n, r.overKey), true
		}
		if n := m.value.get("number"); n != nil {
			t.Number = r.expr(what+": number", n, r.overKey)
		}
		if n := m.value.get("size"); n != nil {
			t.Size = r.size(n)
		}
		if n := m.value.get("order"); n != nil {
			switch n.text(what + ": order") {
			case "number":
			case "hashed":
				t.Hashed = true
			default:
				fail(n.line, `%s: order: expected "number", or "hashed" for keys whose order is not that of `+
					`their numbers, not %v`, what, n)
			}
		}
		if n := m.value.get("grows"); n != nil {
			if t.Grows = n.flag(what + ": grows"); t.Grows && t.Strings {
				fail(n.line, `%s: grows: expected keys of kind "int"`, what)
			}
			t.Deletes = t.Deletes || t.Grows
		}
		if t.Hashed && !t.Strings {
			fail(m.line, `%s: order: expected "number" where keys are of kind "int"`, what)
		}
		if t.Number == nil && t.Size.Max == 0 {
			fail(m.line, `%s: expected a "number", or a "size" above 0: records have something`, what)
		}
		r.file.Tables = append(r.file.Tables, t)
	}
}

// table returns the index of a table.
func (r *reader) table(what string, n *node) int {
	name := n.text(what)
	var names []string
	for i := range r.file.Tables {
		if r.file.Tables[i].Name == name {
			return i
		}
		names = append(names, r.file.Tables[i].Name)
	}
	fail(n.line, "%s: expected a table, one of %s, not %v", what, strings.Join(names, ", "), n)
	return 0
}

func (r *reader) draws(n *node) {
	for i, m := range n.object("draws") {
		declared("draws", m, i)
		what := fmt.Sprintf("draw %s", m.name)
		fields := []string{"table", "from", "to", "by"}
		d := Draw{Name: m.name, Table: -1, By: Uniform, Line: m.line}
		m.value.object(what, append(fields, "theta", "scrambled", "share", "of", "moves", "a")...)
		if n := m.value.get("by"); n != nil {
			d.By = n.text(what + ": by")
		}
		switch d.By {
		case Uniform:
		case Zipf:
			fields = append(fields, "theta", "scrambled")
		case Latest:
			fields = append(fields, "theta")
		case Hot:
			fields = append(fields, "share", "of", "moves")
		case NURand:
			fields = append(fields, "a")
		default:
			fail(m.value.get("by").line, "%s: by: expected one of uniform, zipf, latest, hot, nurand, not %q",
				what, d.By)
		}
		for _, field := range m.value.members {
			if !contains(fields, field.name) {
				fail(field.line, "%s: expected no field %q by %s, but some of %s", what, field.name, d.By,
					strings.Join(fields, ", "))
			}
		}
		table, from, to := m.value.get("table"), m.value.get("from"), m.value.get("to")
		switch {
		case table != nil && from == nil && to == nil:
			d.Table = r.table(what+": table", table)
		case table == nil && from != nil && to != nil && d.By != Latest:
			d.From = r.expr(what+": from", from, r.overParams)
			d.To = r.expr(what+": to", to, r.overParams)
		case d.By == Latest:
			fail(m.line, `%s: expected a "table", and no "from" and "to"`, what)
		default:
			fail(m.line, `%s: expected either a "table", or "from" and "to"`, what)
		}
		r.drawBy(&d, what, m.value)
		r.file.Draws = append(r.file.Draws, d)
	}
}

// drawBy reads the fields that a kind of draw has.
func (r *reader) drawBy(d *Draw, what string, n *node) {
	get := func(name string) *node {
		v := n.get(name)
		if v == nil {
			fail(d.Line, "%s: expected %q with by %s", what, name, d.By)
		}
		return v
	}
	switch d.By {
	case Zipf, Latest:
		theta := get("theta")
		if theta.value == any("theta") {
			if r.file.Params.Theta < 0 {
				fail(theta.line, `%s: theta: expected a parameter "theta" in "params"`, what)
			}
			d.Theta = -1
		} else {
			d.Theta = theta.real(what+": theta", 0, 10)
		}
		if n := n.get("scrambled"); n != nil {
			d.Scrambled = n.flag(what + ": scrambled")
		}
	case Hot:
		d.Share = get("share").real(what+": share", 0, 1)
		d.Of = get("of").real(what+": of", 0, 1)
		if n := n.get("moves"); n != nil {
			d.Moves = n.whole(what+": moves", 1, math.MaxInt64)
		}
	case NURand:
		d.A = get("a").whole(what+": a", 0, math.MaxInt32)
	}
}

func (r *reader) trace(n *node) {
	n.object("trace", "file", "split")
	file := n.get("file")
	if file == nil {
		fail(n.line, `trace: expected "file"`)
	}
	t := &Trace{File: file.text("trace: file")}
	if t.File == "" {
		fail(file.line, "trace: file: expected the name of a file")
	}
	if split := n.get("split"); split != nil {
		switch split.text("trace: split") {
		case "key":
		case "order":
			t.Order = true
		default:
			fail(split.line, `trace: split: expected "key" or "order", not %v`, split)
		}
	}
	r.file.Trace = t
}
