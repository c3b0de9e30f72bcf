package workfile

import (
	"fmt"
	"strings"
)

// opReader reads an operation.
type opReader struct {
	*reader
	what string
	op   *Operation
	vars map[string]variable
	// drawn is where the variables go that expressions draw: those of the operation, or of the repeat
	// whose steps are read.
	drawn *[]Var
	depth int // of repeats
	steps int
}

func (r *reader) operations(n *node) {
	members := n.object("operations")
	if len(members) == 0 {
		fail(n.line, "operations: expected one or more")
	}
	total := int64(0)
	r.file.Operations = make([]Operation, len(members))
	for i, m := range members {
		declared("operations", m, i)
		what := fmt.Sprintf("operation %s", m.name)
		m.value.object(what, "weight", "vars", "steps")
		op := &r.file.Operations[i]
		*op = Operation{Name: m.name, Weight: 1, Slots: firstOfVars, ReadOnly: true}
		if w := m.value.get("weight"); w != nil {
			op.Weight = int(w.whole(what+": weight", 0, 1_000_000))
		}
		total += int64(op.Weight)
		o := &opReader{reader: r, what: what, op: op, vars: map[string]variable{}, drawn: &op.Vars}
		if vars := m.value.get("vars"); vars != nil {
			o.variables(vars)
		}
		steps := m.value.get("steps")
		if steps == nil || len(steps.items(what+": steps")) == 0 {
			fail(m.line, `%s: expected "steps", one or more`, what)
		}
		op.Steps = o.list(what, steps)
	}
	for i := range r.file.Operations {
		r.file.Operations[i].Each(func(s *Step) {
			if t := &r.file.Tables[s.Table]; s.Kind == Add && (t.Deletes || t.Grows) {
				fail(s.Line, "add: expected a table all of whose records are there, all the time; some of "+
					"%s may be absent", t.Name)
			}
		})
	}
	if total == 0 {
		fail(n.line, "operations: expected a weight above 0")
	}
}

// slot returns a new one.
func (o *opReader) slot() int {
	o.op.Slots++
	return o.op.Slots - 1
}

// scope is what expressions of the operation may name. A draw is drawn anew for each time that it
// is named.
func (o *opReader) scope(name string) (variable, bool) {
	if v, ok := o.vars[name]; ok {
		return v, true
	}
	if i := o.draw(name); i >= 0 {
		v := variable{slot: o.slot()}
		*o.drawn = append(*o.drawn, Var{Slot: v.slot, Draw: i, Not: -1})
		return v, true
	}
	return o.overParams(name)
}

// draw returns the index of a draw, -1 if there is none of that name.
func (o *opReader) draw(name string) int {
	for i := range o.file.Draws {
		if o.file.Draws[i].Name == name {
			return i
		}
	}
	return -1
}

func (o *opReader) declare(what string, m member, v variable) {
	declared(what, m, len(o.vars))
	if _, ok := o.vars[m.name]; ok || o.draw(m.name) >= 0 {
		fail(m.line, "%s: expected another name than %q, which is a draw or variable already", what,
			m.name)
	}
	o.vars[m.name] = v
}

func (o *opReader) variables(n *node) {
	what := o.what + ": vars"
	for _, m := range n.object(what) {
		v := Var{Draw: -1, Not: -1}
		switch n := m.value; n.value.(type) {
		case object:
			n.object(what, "draw", "not")
			draw, not := n.get("draw"), n.get("not")
			if draw == nil || not == nil {
				fail(n.line, `%s: expected "draw", the name of a draw, and "not", that of a variable`, what)
			}
			if v.Draw = o.draw(draw.text(what + ": draw")); v.Draw < 0 {
				fail(draw.line, "%s: expected the name of a draw, not %v", what, draw)
			}
			other, ok := o.vars[not.text(what+": not")]
			if !ok {
				fail(not.line, "%s: not: expected a variable before this one, not %v", what, not)
			}
			v.Not = other.slot
		default:
			if text, ok := n.value.(string); ok {
				v.Draw = o.draw(text)
			}
			if v.Draw < 0 {
				v.Expr = o.expr(what, n, o.scope)
			}
		}
		v.Slot = o.slot()
		o.declare(what, m, variable{slot: v.Slot})
		o.op.Vars = append(o.op.Vars, v)
	}
}

// fieldsOf says which fields a kind of step has beside its own name, which names the table, and
// "if".
var fieldsOf = []struct {
	kind   Kind
	fields string
}{
	{Get, "key as"}, {Put, "key value"}, {Insert, "key value as"}, {Modify, "key value as"},
	{Add, "key value"}, {Delete, "key as"}, {Range, "key count as"}, {Let, "be"}, {End, ""},
	{Rollback, ""}, {Repeat, "as steps"},
}

// list reads steps.
func (o *opReader) list(what string, n *node) (steps []Step) {
	for i, s := range n.list {
		if o.steps++; o.steps > maxList {
			fail(s.line, "%s: expected at most %d steps", o.what, maxList)
		}
		steps = append(steps, o.step(fmt.Sprintf("%s, step %d", what, i+1), s))
	}
	return steps
}

func (o *opReader) step(what string, n *node) Step {
	n.object(what)
	var kinds []string
	s := Step{Line: n.line, As: -1, Found: -1, Sum: -1}
	var fields []string
	for _, f := range fieldsOf {
		kinds = append(kinds, string(f.kind))
		if n.get(string(f.kind)) == nil {
			continue
		}
		if s.Kind != "" {
			fail(n.line, "%s: expected one of %s and %s, not both", what, s.Kind, f.kind)
		}
		s.Kind, fields = f.kind, append(strings.Fields(f.fields), string(f.kind), "if")
	}
	if s.Kind == "" {
		fail(n.line, "%s: expected one of %s", what, strings.Join(kinds, ", "))
	}
	n.object(what, fields...)
	if c := n.get("if"); c != nil {
		s.If = o.expr(what+": if", c, o.scope)
	}
	subject := n.get(string(s.Kind))
	switch s.Kind {
	case Let:
		o.let(what, n, subject, &s)
	case End, Rollback:
		s.Value = o.expr(what+": "+string(s.Kind), subject, o.scope)
	case Repeat:
		o.repeat(what, n, subject, &s)
	default:
		s.Table = o.table(what+": "+string(s.Kind), subject)
		o.access(what, n, &s)
	}
	return s
}

// maxNested is how many repeats may be within each other.
const maxNested = 3

// repeat reads steps that are done several times. Variables that they declare are known after them,
// as the last time has left them.
func (o *opReader) repeat(what string, n, subject *node, s *Step) {
	steps := n.get("steps")
	if steps == nil || len(steps.items(what+": steps")) == 0 {
		fail(n.line, `%s: expected "steps", one or more`, what)
	}
	if o.depth++; o.depth > maxNested {
		fail(n.line, "%s: expected repeats nested at most %d deep", what, maxNested)
	}
	s.Value = o.expr(what+": repeat", subject, o.scope)
	if as := n.get("as"); as != nil {
		s.As = o.slot()
		o.declare(what+": as", member{name: as.text(what + ": as"), line: as.line},
			variable{slot: s.As, reads: true})
	}
	outer := o.drawn
	o.drawn = &s.Vars
	s.Steps = o.list(what, steps)
	o.drawn = outer
	s.First = o.op.Repeated
	o.op.Repeated += len(s.Vars)
	o.depth--
}

func (o *opReader) let(what string, n, subject *node, s *Step) {
	be := n.get("be")
	if be == nil {
		fail(n.line, `%s: expected "be": what the variable is`, what)
	}
	s.Value = o.expr(what+": be", be, o.scope)
	m := member{name: subject.text(what + ": let"), line: subject.line}
	if v, ok := o.vars[m.name]; ok && v.reads {
		s.As = v.slot // once more, perhaps with another "if"
		return
	}
	s.As = o.slot()
	o.declare(what+": let", m, variable{slot: s.As, reads: true})
}

// access reads a step that reads or writes a table.
func (o *opReader) access(what string, n *node, s *Step) {
	t := &o.file.Tables[s.Table]
	key := n.get("key")
	if key == nil {
		fail(n.line, `%s: expected "key"`, what)
	}
	if s.Kind == Insert && key.value == any("new") {
		if o.depth > 0 {
			fail(key.line, `%s: key: expected a number in a repeat; "new" is for steps that are done once`,
				what)
		}
		if t.Grows {
			fail(key.line, `%s: key: expected a number in a table that grows`, what)
		}
		t.Inserts = true
	} else {
		s.Key = o.expr(what+": key", key, o.scope)
	}
	if value := n.get("value"); value != nil {
		if t.Number == nil {
			fail(value.line, `%s: value: expected a table whose records have a "number"`, what)
		}
		s.Value = o.valueOf(what, value, s)
	}
	switch s.Kind {
	case Put:
		t.Puts, t.Blind = true, t.Number != nil
	case Add:
		if s.Value == nil {
			fail(n.line, `%s: expected "value": what to add to the number`, what)
		}
	case Delete:
		t.Deletes = true
	case Insert:
		t.Deletes = t.Deletes || s.Key != nil
	case Range:
		t.Ordered = true
		count := n.get("count")
		if count == nil {
			fail(n.line, `%s: expected "count": how many records to read at most`, what)
		}
		s.Count = o.expr(what+": count", count, o.scope)
	}
	o.op.ReadOnly = o.op.ReadOnly && (s.Kind == Get || s.Kind == Range)
	if as := n.get("as"); as != nil {
		m := member{name: as.text(what + ": as"), line: as.line}
		if s.As < 0 {
			s.As, s.Found = o.slot(), o.slot()
		}
		o.declare(what+": as", m, variable{slot: s.As, reads: true})
		o.vars[m.name+".found"] = variable{slot: s.Found, reads: true}
		if s.Kind == Range {
			s.Sum = o.slot()
			o.vars[m.name+".sum"] = variable{slot: s.Sum, reads: true}
		}
	}
}

// valueOf reads the number that a step writes; in one that modifies, "old" is the number before.
func (o *opReader) valueOf(what string, n *node, s *Step) *Expr {
	if s.Kind != Modify {
		return o.expr(what+": value", n, o.scope)
	}
	s.As, s.Found = o.slot(), o.slot()
	as := s.As
	return o.expr(what+": value", n, func(name string) (variable, bool) {
		if name == "old" {
			return variable{slot: as, reads: true}, true
		}
		return o.scope(name)
	})
}

func (r *reader) invariants(n *node) {
	for i, item := range n.items("invariants") {
		what := fmt.Sprintf("invariant %d", i+1)
		item.object(what, "sum", "count", "equals", "at")
		var v Invariant
		if n := item.get("at"); n != nil {
			switch n.text(what + ": at") {
			case "always":
			case "end":
				v.AtEnd = true
			default:
				fail(n.line, `%s: at: expected "always", or "end", not %v`, what, n)
			}
		}
		v.Left = r.aggregate(what, item)
		v.Text = r.describe(v.Left)
		equals := item.get("equals")
		switch {
		case equals == nil:
			v.Text += " is what it was at first"
		case equals.value == any(object{}):
			equals.object(what+": equals", "sum", "count")
			right := r.aggregate(what+": equals", equals)
			v.Right = &right
			v.Text += " equals " + r.describe(right)
		default:
			v.Equals = r.expr(what+": equals", equals, r.overParams)
			v.Text += " equals " + v.Equals.Text
		}
		r.file.Invariants = append(r.file.Invariants, v)
	}
}

func (r *reader) aggregate(what string, n *node) (a Aggregate) {
	for _, kind := range []string{Sum, Count} {
		over := n.get(kind)
		if over == nil {
			continue
		}
		if a.Kind != "" {
			fail(n.line, `%s: expected one of "sum" and "count", not both`, what)
		}
		a.Kind = kind
		list := []*node{over}
		if over.value == any(array{}) {
			list = over.list
		}
		for _, t := range list {
			table := r.table(what+": "+kind, t)
			if kind == Sum && r.file.Tables[table].Number == nil {
				fail(t.line, `%s: sum: expected a table whose records have a "number", not %v`, what, t)
			}
			a.Tables = append(a.Tables, table)
		}
	}
	if len(a.Tables) == 0 {
		fail(n.line, `%s: expected "sum" or "count", of one or more tables`, what)
	}
	return a
}

func (r *reader) describe(a Aggregate) string {
	var names []string
	for _, t := range a.Tables {
		names = append(names, r.file.Tables[t].Name)
	}
	return fmt.Sprintf("the %s of %s", a.Kind, strings.Join(names, " and "))
}
