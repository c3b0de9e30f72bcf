package workfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A node is a value of a JSON file, with the line where it ends.
type node struct {
	line    int
	value   any // json.Number, string, bool or nil; or list, or object
	list    []*node
	members []member
}

type member struct {
	name  string
	line  int
	value *node
}

// What an array and an object have as their value.
type (
	array  struct{}
	object struct{}
)

// maxDepth is how deep values are nested at most. No field is that deep.
const maxDepth = 16

// problem is what is wrong with a file, and where.
type problem struct {
	line int
	text string
}

// fail ends the parsing.
func fail(line int, format string, args ...any) {
	panic(problem{line, fmt.Sprintf(format, args...)})
}

// treeOf reads data, which is one JSON value.
func treeOf(data []byte) *node {
	t := &treeReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	t.dec.UseNumber()
	n := t.node(t.next(), 0)
	if _, err := t.dec.Token(); !errors.Is(err, io.EOF) {
		fail(t.lineAt(t.dec.InputOffset()), "expected nothing after the object")
	}
	return n
}

type treeReader struct {
	data []byte
	dec  *json.Decoder
	seen int64 // bytes of which the newlines are counted
	line int
}

func (t *treeReader) lineAt(offset int64) int {
	if offset > t.seen {
		t.line += bytes.Count(t.data[t.seen:offset], []byte("\n"))
		t.seen = offset
	}
	return t.line
}

func (t *treeReader) next() json.Token {
	token, err := t.dec.Token()
	if err != nil {
		offset := t.dec.InputOffset()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			offset = min(max(syntax.Offset, offset), int64(len(t.data)))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			fail(t.lineAt(int64(len(t.data))), "expected JSON, an object such as "+
				`{"name": "mine", ...}; it ends too early`)
		}
		fail(t.lineAt(offset), "expected JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return token
}

func (t *treeReader) node(token json.Token, depth int) *node {
	if depth > maxDepth {
		fail(t.lineAt(t.dec.InputOffset()), "expected values nested at most %d deep", maxDepth)
	}
	n := &node{line: t.lineAt(t.dec.InputOffset())}
	switch token {
	case json.Delim('['):
		n.value = array{}
		for t.dec.More() {
			n.list = append(n.list, t.node(t.next(), depth+1))
		}
		t.next()
	case json.Delim('{'):
		n.value = object{}
		for t.dec.More() {
			name, _ := t.next().(string)
			m := member{name: name, line: t.lineAt(t.dec.InputOffset())}
			for _, other := range n.members {
				if other.name == name {
					fail(m.line, "%q is there twice", name)
				}
			}
			m.value = t.node(t.next(), depth+1)
			n.members = append(n.members, m)
		}
		t.next()
	default:
		n.value = token
	}
	return n
}

// String returns n as it is told in a message.
func (n *node) String() string {
	switch v := n.value.(type) {
	case array:
		return "a list"
	case object:
		return "an object"
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%.60q", v)
	default:
		return fmt.Sprintf("%.60v", v)
	}
}

// object returns the members of n, whose names must be among known; none if known is nil and any
// name will do.
func (n *node) object(what string, known ...string) []member {
	if _, ok := n.value.(object); !ok {
		fail(n.line, "%s: expected an object, not %v", what, n)
	}
	for _, m := range n.members {
		if known != nil && !contains(known, m.name) {
			fail(m.line, "%s: unknown field %q; expected some of %s", what, m.name,
				strings.Join(known, ", "))
		}
	}
	return n.members
}

func contains(list []string, s string) bool {
	for _, other := range list {
		if other == s {
			return true
		}
	}
	return false
}

// get returns the member called name, or nil.
func (n *node) get(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (n *node) items(what string) []*node {
	if _, ok := n.value.(array); !ok {
		fail(n.line, "%s: expected a list, not %v", what, n)
	}
	return n.list
}

func (n *node) text(what string) string {
	s, ok := n.value.(string)
	if !ok {
		fail(n.line, "%s: expected a string, not %v", what, n)
	}
	return s
}

func (n *node) flag(what string) bool {
	b, ok := n.value.(bool)
	if !ok {
		fail(n.line, "%s: expected true or false, not %v", what, n)
	}
	return b
}

// whole returns a whole number from low to high.
func (n *node) whole(what string, low, high int64) int64 {
	v, ok := n.value.(json.Number)
	i, err := v.Int64()
	if !ok || err != nil || i < low || i > high {
		fail(n.line, "%s: expected a whole number from %d to %d, not %v", what, low, high, n)
	}
	return i
}

// real returns a number from low to high.
func (n *node) real(what string, low, high float64) float64 {
	v, ok := n.value.(json.Number)
	x, err := v.Float64()
	if !ok || err != nil || !(x >= low && x <= high) {
		fail(n.line, "%s: expected a number from %v to %v, not %v", what, low, high, n)
	}
	return x
}
