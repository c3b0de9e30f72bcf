package linear

import (
	"fmt"
	"strings"
	"time"
)

// A Kind is a kind of operation.
type Kind uint8

// The operations. View and Update are transactions: View gets the key in a
// read-only one, Update gets it and sets it, which is a Swap if it commits, and
// Blind sets it without looking, as one key of two.
const (
	Load Kind = iota
	Store
	LoadOrStore
	Swap
	LoadAndDelete
	Delete
	CompareAndSwap
	View
	Update
	Blind
	kinds
)

var names = [kinds]string{
	"Load", "Store", "LoadOrStore", "Swap", "LoadAndDelete", "Delete", "CompareAndSwap", "View", "Update", "Blind",
}

// String returns the name of the operation.
func (k Kind) String() string {
	if k < kinds {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText returns the name of the operation.
func (k Kind) MarshalText() ([]byte, error) {
	if k >= kinds {
		return nil, fmt.Errorf("linear: no operation has the number %d", uint8(k))
	}
	return []byte(names[k]), nil
}

// UnmarshalText is the reverse of MarshalText.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range names {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("linear: no operation is called %q", text)
}

// An Op is one operation that has returned.
type Op struct {
	Worker int   `json:"worker"`
	Key    int   `json:"key"`
	Kind   Kind  `json:"op"`
	Arg    int64 `json:"arg,omitempty"` // the value to write
	Old    int64 `json:"old,omitempty"` // what CompareAndSwap expects

	Got int64 `json:"got,omitempty"` // the value returned
	OK  bool  `json:"ok,omitempty"`  // loaded or swapped

	// Call and Return are times of one monotonic clock, in nanoseconds.
	Call   int64 `json:"call"`
	Return int64 `json:"return"`

	pending bool // it has not returned: Got and OK mean nothing
}

// String writes the operation as a call with its result.
func (o Op) String() string {
	result := "absent"
	if o.OK {
		result = fmt.Sprint(o.Got)
	}
	var s string
	switch o.Kind {
	case Load, View, LoadAndDelete:
		s = fmt.Sprintf("%v(%d) = %s", o.Kind, o.Key, result)
	case Store, Blind:
		return fmt.Sprintf("%v(%d, %d)", o.Kind, o.Key, o.Arg)
	case Delete:
		return fmt.Sprintf("%v(%d)", o.Kind, o.Key)
	case LoadOrStore:
		if !o.OK {
			result = "stored"
		}
		s = fmt.Sprintf("%v(%d, %d) = %s", o.Kind, o.Key, o.Arg, result)
	case CompareAndSwap:
		s = fmt.Sprintf("%v(%d, %d, %d) = %t", o.Kind, o.Key, o.Old, o.Arg, o.OK)
	default:
		s = fmt.Sprintf("%v(%d, %d) = %s", o.Kind, o.Key, o.Arg, result)
	}
	if o.pending {
		s, _, _ = strings.Cut(s, " = ")
	}
	return s
}

// A History is what some goroutines did with a map. The order of its operations
// means nothing.
type History struct {
	// Fresh says that all keys were absent at first. Otherwise nothing is
	// known of them.
	Fresh bool
	Ops   []Op
}

// byKey returns the operations of each key.
func (h *History) byKey() map[int][]Op {
	keys := map[int][]Op{}
	for _, o := range h.Ops {
		keys[o.Key] = append(keys[o.Key], o)
	}
	return keys
}

// describe writes operations as lines, with times since the first call.
func describe(ops []Op) string {
	if len(ops) == 0 {
		return ""
	}
	from := ops[0].Call
	for _, o := range ops {
		from = min(from, o.Call)
	}
	var b strings.Builder
	for _, o := range ops {
		until := "still running"
		if !o.pending {
			until = time.Duration(o.Return - from).String()
		}
		fmt.Fprintf(&b, "  worker %-3d %12v .. %-13s  %v\n", o.Worker, time.Duration(o.Call-from), until, o)
	}
	return b.String()
}
