package workfile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strconv"
	"strings"
)

// An Expr computes a whole number from variables. Truth is 1, and anything but 0 is true.
type Expr struct {
	Text string
	// Slot is that of the variable that the whole expression is, -1 if it is something else.
	Slot int
	// Eval returns the value. It has no state, and does not fail.
	Eval func(vars []int64) int64
	// Reads says that it depends on what a step has read.
	Reads bool

	constant bool // it depends on nothing but parameters
}

// Constant returns an expression of one value.
func Constant(v int64) *Expr {
	return &Expr{Text: strconv.FormatInt(v, 10), Slot: -1, constant: true,
		Eval: func([]int64) int64 { return v }}
}

// variable is what a name in an expression stands for.
type variable struct {
	slot     int
	reads    bool
	constant bool
}

// A scope says what names stand for; ok is false if it does not know one.
type scope func(name string) (v variable, ok bool)

// exprHelp ends messages about expressions.
const exprHelp = `expected whole numbers and names joined by + - * / %% == != < <= > >= && || !, ` +
	`such as "a*4 + b", and hash(x), min(x, y), max(x, y)`

// compile compiles text; names are what they are in s.
func compile(line int, what, text string, s scope) *Expr {
	if len(text) > 1000 {
		fail(line, "%s: expected an expression of at most 1000 bytes", what)
	}
	tree, err := parser.ParseExpr(text)
	if err != nil {
		fail(line, "%s: "+exprHelp+", not %q", what, text)
	}
	c := &compiler{line: line, what: what, text: text, scope: s}
	e := &Expr{Text: text, Slot: -1, constant: true}
	c.expr = e
	if slot, ok := c.name(tree); ok {
		e.Slot, e.Eval = slot, func(vars []int64) int64 { return vars[slot] }
		return e
	}
	e.Eval = c.compile(tree)
	return e
}

type compiler struct {
	line       int
	what, text string
	scope      scope
	expr       *Expr
	depth      int
}

func (c *compiler) fail() {
	fail(c.line, "%s: "+exprHelp+", not %q", c.what, c.text)
}

// name returns the slot of the variable that e is, if it is one.
func (c *compiler) name(e ast.Expr) (slot int, ok bool) {
	name := ""
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.name(e.X)
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		if !ok {
			c.fail()
		}
		name = x.Name + "." + e.Sel.Name
	default:
		return 0, false
	}
	v, ok := c.scope(name)
	if !ok {
		fail(c.line, "%s: there is nothing called %q in %q; expected a parameter, a draw, a variable of "+
			"the operation, or what a step before it has read", c.what, name, c.text)
	}
	c.expr.Reads = c.expr.Reads || v.reads
	c.expr.constant = c.expr.constant && v.constant
	return v.slot, true
}

type evaluation = func(vars []int64) int64

func (c *compiler) compile(e ast.Expr) evaluation {
	if c.depth++; c.depth > 1000 {
		c.fail()
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		v, err := strconv.ParseInt(strings.ReplaceAll(e.Value, "_", ""), 10, 64)
		if e.Kind != token.INT || err != nil {
			c.fail()
		}
		return func([]int64) int64 { return v }
	case *ast.Ident, *ast.SelectorExpr:
		slot, _ := c.name(e)
		return func(vars []int64) int64 { return vars[slot] }
	case *ast.ParenExpr:
		return c.compile(e.X)
	case *ast.UnaryExpr:
		x := c.compile(e.X)
		switch e.Op {
		case token.SUB:
			return func(vars []int64) int64 { return -x(vars) }
		case token.NOT:
			return func(vars []int64) int64 { return truth(x(vars) == 0) }
		}
	case *ast.CallExpr:
		return c.call(e)
	case *ast.BinaryExpr:
		return c.binary(e)
	}
	c.fail()
	return nil
}

func (c *compiler) call(e *ast.CallExpr) evaluation {
	name, ok := e.Fun.(*ast.Ident)
	if !ok || e.Ellipsis.IsValid() {
		c.fail()
	}
	var args []evaluation
	for _, arg := range e.Args {
		args = append(args, c.compile(arg))
	}
	switch {
	case name.Name == "hash" && len(args) == 1:
		x := args[0]
		return func(vars []int64) int64 { return int64(Hash(uint64(x(vars))) & math.MaxInt64) }
	case name.Name == "min" && len(args) == 2:
		x, y := args[0], args[1]
		return func(vars []int64) int64 { return min(x(vars), y(vars)) }
	case name.Name == "max" && len(args) == 2:
		x, y := args[0], args[1]
		return func(vars []int64) int64 { return max(x(vars), y(vars)) }
	}
	c.fail()
	return nil
}

func (c *compiler) binary(e *ast.BinaryExpr) evaluation {
	x, y := c.compile(e.X), c.compile(e.Y)
	switch e.Op {
	case token.ADD:
		return func(vars []int64) int64 { return x(vars) + y(vars) }
	case token.SUB:
		return func(vars []int64) int64 { return x(vars) - y(vars) }
	case token.MUL:
		return func(vars []int64) int64 { return x(vars) * y(vars) }
	case token.QUO, token.REM:
		_, ok := e.Y.(*ast.BasicLit)
		if !ok || y(nil) == 0 {
			fail(c.line, "%s: expected a number above 0 after / and %%, in %q", c.what, c.text)
		}
		by := y(nil)
		if e.Op == token.QUO {
			return func(vars []int64) int64 { return x(vars) / by }
		}
		return func(vars []int64) int64 { return x(vars) % by }
	case token.EQL:
		return func(vars []int64) int64 { return truth(x(vars) == y(vars)) }
	case token.NEQ:
		return func(vars []int64) int64 { return truth(x(vars) != y(vars)) }
	case token.LSS:
		return func(vars []int64) int64 { return truth(x(vars) < y(vars)) }
	case token.LEQ:
		return func(vars []int64) int64 { return truth(x(vars) <= y(vars)) }
	case token.GTR:
		return func(vars []int64) int64 { return truth(x(vars) > y(vars)) }
	case token.GEQ:
		return func(vars []int64) int64 { return truth(x(vars) >= y(vars)) }
	case token.LAND:
		return func(vars []int64) int64 { return truth(x(vars) != 0 && y(vars) != 0) }
	case token.LOR:
		return func(vars []int64) int64 { return truth(x(vars) != 0 || y(vars) != 0) }
	}
	c.fail()
	return nil
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Hash mixes the bits of x; no two have the same.
func Hash(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Unhash returns what has the hash h.
func Unhash(h uint64) uint64 {
	h ^= h>>31 ^ h>>62
	h *= inverse(0x94d049bb133111eb)
	h ^= h>>27 ^ h>>54
	h *= inverse(0xbf58476d1ce4e5b9)
	h ^= h>>30 ^ h>>60
	return h - 0x9e3779b97f4a7c15
}

// inverse returns what odd times it is 1, modulo 2^64.
func inverse(odd uint64) uint64 {
	x := odd
	for range 5 { // each step doubles the bits that are right, 3 at first
		x *= 2 - odd*x
	}
	return x
}
