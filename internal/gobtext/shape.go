package gobtext

import "encoding/json"

// A Shape is [mvcc.Shape], in the form that it has in the header of a backup.
type Shape struct{ nodes []shapeNode }

type shapeNode struct {
	Kind   string   `json:"k"`
	Fields []string `json:"f"`
	Of     []int    `json:"t"`
}

// ParseShape reads the form in JSON of a shape. One that is not right is no shape.
func ParseShape(text []byte) (s Shape) {
	if json.Unmarshal(text, &s.nodes) != nil {
		return Shape{}
	}
	for _, n := range s.nodes {
		for _, of := range n.Of {
			if of < 0 || of >= len(s.nodes) {
				return Shape{}
			}
		}
	}
	return s
}

// A form is a type in a shape; the zero one is not known.
type form struct {
	of []shapeNode
	at int
}

func (s Shape) form() form { return form{s.nodes, 0} }

func (f form) known() bool { return len(f.of) > 0 }

func (f form) kind() string {
	if !f.known() {
		return ""
	}
	return f.of[f.at].Kind
}

// part returns the part with a number: the element, or the value of a map.
func (f form) part(i int) form {
	if !f.known() || i >= len(f.of[f.at].Of) {
		return form{}
	}
	return form{f.of, f.of[f.at].Of[i]}
}

// field returns the form of a field.
func (f form) field(name string) form {
	if f.kind() != "struct" {
		return form{}
	}
	for i, is := range f.of[f.at].Fields {
		if is == name {
			return f.part(i)
		}
	}
	return form{}
}

// pointed returns what a pointer, or one to a pointer, points to in the end, and how many there
// are.
func (f form) pointed() (form, int) {
	depth := 0
	for ; f.kind() == "*"; depth++ {
		if depth > len(f.of) { // a pointer to itself
			return form{}, depth
		}
		f = f.part(0)
	}
	return f, depth
}
