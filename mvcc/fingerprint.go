package mvcc

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// A fingerprint has a hash of each place that a value consists of or leads to, in the order of a
// walk: numbers, strings, pointers, the elements of slices up to cap.
//
// The walk reads memory only, and calls no function of the program. It follows no pointer, slice or
// map twice, so rings end; the elements of a map come in the order of the hashes of their keys. Two
// things are left out, with all that they lead to:
//
//   - a struct that others may change at any time, see leftOut: reading it would be a data race;
//   - places after mostPlaces.
type fingerprint []uint32

const mostPlaces = 1 << 14

// bytesPerPlace is how many elements of a slice of bytes are one place.
const bytesPerPlace = 64

// fingerprintOf returns the fingerprint of the value of type t at a pointer.
func fingerprintOf(seed maphash.Seed, t reflect.Type, at unsafe.Pointer) fingerprint {
	w := walk{seed: seed}
	w.value(reflect.NewAt(t, at).Elem())
	return slices.Clip(w.made)
}

// change returns the first place that has changed in the value of type t at a pointer, or "".
func (f fingerprint) change(seed maphash.Seed, t reflect.Type, at unsafe.Pointer) (place string) {
	w := walk{seed: seed, compares: true, made: f}
	w.value(reflect.NewAt(t, at).Elem())
	return w.changed
}

// A walk makes a fingerprint, or compares a value with one.
type walk struct {
	seed     maphash.Seed
	made     fingerprint // so far; or, if compares is set, all that is compared with
	compares bool
	shallow  bool // pointers are not followed
	places   int  // how many it has come to
	over     bool
	changed  string // the first place that is not as it was
	met      map[reference]struct{}
	path     []placeStep
}

// A reference is a pointer, map or slice that the walk has followed.
type reference struct {
	to  unsafe.Pointer
	len int
	t   reflect.Type
}

// A placeStep leads from a value to a part of it: a field, or an element, or a run of elements.
type placeStep struct {
	of       reflect.Type
	from, to int
	key      reflect.Value // of a map
}

// place notes the hash of the next place, or compares it. after is the suffix of the place's name.
func (w *walk) place(hash uint64, after string) {
	h := uint32(hash ^ hash>>32)
	switch {
	case w.over:
		return
	case !w.compares:
		w.made = append(w.made, h)
	case w.places >= len(w.made) || w.made[w.places] != h:
		w.changed, w.over = w.name()+after, true
	}
	if w.places++; w.places >= mostPlaces {
		w.over = true
	}
}

// name returns where the walk is, as a Go expression.
func (w *walk) name() string {
	var b strings.Builder
	b.WriteString("value")
	for _, s := range w.path {
		switch s.of.Kind() {
		case reflect.Struct:
			b.WriteString("." + s.of.Field(s.from).Name)
		case reflect.Map:
			b.WriteString("[" + elementName(s.key) + "]")
		default:
			if s.to == s.from+1 {
				fmt.Fprintf(&b, "[%d]", s.from)
			} else {
				fmt.Fprintf(&b, "[%d:%d]", s.from, s.to)
			}
		}
	}
	return b.String()
}

// elementName returns a key of a map as text, without a function of the program.
func elementName(key reflect.Value) string {
	for key.Kind() == reflect.Interface && !key.IsNil() {
		key = key.Elem()
	}
	switch {
	case key.Kind() == reflect.String:
		return strconv.Quote(key.String())
	case key.CanInt():
		return strconv.FormatInt(key.Int(), 10)
	case key.CanUint():
		return strconv.FormatUint(key.Uint(), 10)
	}
	return "a " + key.Type().String()
}

func (w *walk) value(v reflect.Value) {
	if w.over {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			w.place(1, "")
		} else {
			w.place(2, "")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.place(mixed(uint64(v.Int())), "")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.place(mixed(v.Uint()), "")
	case reflect.Float32, reflect.Float64:
		w.place(mixed(math.Float64bits(v.Float())), "")
	case reflect.Complex64, reflect.Complex128:
		c := v.Complex()
		w.place(mixed(mixed(math.Float64bits(real(c)))+math.Float64bits(imag(c))), "")
	case reflect.String:
		w.place(maphash.String(w.seed, v.String()), "")
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		w.place(address(v.UnsafePointer()), "")
	case reflect.Pointer:
		w.place(address(v.UnsafePointer()), "")
		if w.follows(v, 0) {
			w.value(v.Elem())
		}
	case reflect.Interface:
		w.held(v)
	case reflect.Struct:
		w.fields(v)
	case reflect.Array:
		w.elements(v)
	case reflect.Slice:
		w.place(address(v.UnsafePointer())+mixed(uint64(v.Len()))+mixed(mixed(uint64(v.Cap()))), "")
		if w.follows(v, v.Cap()) {
			w.slice(v)
		}
	case reflect.Map:
		w.place(address(v.UnsafePointer()), "")
		if w.follows(v, 0) {
			w.place(mixed(uint64(v.Len())), ", the number of its elements")
			w.entries(v)
		}
	}
}

// follows reports whether the walk goes on to the memory that v leads to, a pointer, slice or map.
func (w *walk) follows(v reflect.Value, n int) bool {
	if w.over || w.shallow || v.IsNil() || leftOut(v.Type().Elem()) {
		return false
	}
	to := reference{v.UnsafePointer(), n, v.Type()}
	if _, before := w.met[to]; before {
		return false
	}
	if w.met == nil {
		w.met = map[reference]struct{}{}
	}
	w.met[to] = struct{}{}
	return true
}

// held walks along the value that an interface holds.
func (w *walk) held(v reflect.Value) {
	if v.IsNil() {
		w.place(0, "")
		return
	}
	v = v.Elem()
	w.place(address(reflect.ValueOf(v.Type()).UnsafePointer()), "")
	w.value(v)
}

func (w *walk) fields(v reflect.Value) {
	if leftOut(v.Type()) {
		return
	}
	for i := range v.NumField() {
		w.part(placeStep{of: v.Type(), from: i}, v.Field(i))
	}
}

// part walks along a part of a value.
func (w *walk) part(s placeStep, v reflect.Value) {
	w.path = append(w.path, s)
	w.value(v)
	w.path = w.path[:len(w.path)-1]
}

// elements walks along the elements of an array, or of a slice up to its length.
func (w *walk) elements(v reflect.Value) {
	of := v.Type()
	if of.Elem().Size() == 0 || leftOut(of.Elem()) {
		return
	}
	for i := 0; i < v.Len() && !w.over; i++ {
		w.part(placeStep{of: of, from: i, to: i + 1}, v.Index(i))
	}
}

// slice walks along the elements of a slice, and along the memory between its length and its
// capacity, which append writes. Pointers there are not followed: nobody can read them by the
// slice.
func (w *walk) slice(v reflect.Value) {
	if v.Type().Elem().Size() == 1 {
		w.memory(v, 0, v.Len(), "")
	} else {
		w.elements(v)
	}
	w.memory(v, v.Len(), v.Cap(), beyondLen)
}

const beyondLen = " beyond len"

// memory walks along the memory of some elements of a slice.
func (w *walk) memory(v reflect.Value, from, to int, after string) {
	size := int(v.Type().Elem().Size())
	if size == 0 {
		return
	}
	run := 1
	if size == 1 {
		run = bytesPerPlace
	}
	for ; from < to && !w.over; from += run {
		n := min(run, to-from)
		bytes := unsafe.Slice((*byte)(unsafe.Add(v.UnsafePointer(), from*size)), n*size)
		w.path = append(w.path, placeStep{of: v.Type(), from: from, to: from + n})
		w.place(maphash.Bytes(w.seed, bytes), after)
		w.path = w.path[:len(w.path)-1]
	}
}

// entries walks along the elements of a map, in the order of the hashes of their keys. The values
// of keys that share a hash, as keys not equal to themselves may, are left out. If a map has more
// elements than there are places left, all are left out.
func (w *walk) entries(v reflect.Value) {
	if v.Len() > mostPlaces-w.places {
		return
	}
	type entry struct {
		hash       uint64
		key, value reflect.Value
	}
	var all []entry
	for i := v.MapRange(); i.Next(); {
		all = append(all, entry{w.keyHash(i.Key()), i.Key(), i.Value()})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.hash, b.hash) })
	for i, one := range all {
		w.place(one.hash, ", the keys in it")
		if (i == 0 || all[i-1].hash != one.hash) && (i+1 == len(all) || all[i+1].hash != one.hash) {
			w.part(placeStep{of: v.Type(), key: one.key}, one.value)
		}
	}
}

// keyHash returns a hash of a key of a map: pointers in it are equal only if they are the same.
func (w *walk) keyHash(key reflect.Value) (hash uint64) {
	k := walk{seed: w.seed, shallow: true}
	k.value(key)
	for _, h := range k.made {
		hash = mixed(hash) + uint64(h)
	}
	return mixed(hash)
}

func address(p unsafe.Pointer) uint64 { return mixed(uint64(uintptr(p))) }

// mixed returns a hash of x, a different one for each x (the end of splitmix64).
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// leadsOn reports whether a copy of a value of type t leads to memory that a walk looks at.
func leadsOn(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	case reflect.Array:
		return leadsOn(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if leadsOn(f.Type) {
				return !leftOut(t)
			}
		}
	}
	return false
}

// leftOutTypes has the answers of leftOut, bools by [reflect.Type].
var leftOutTypes sync.Map

// leftOut reports whether a walk leaves out values of type t, since others may change them
// meanwhile. Such a value has in its own memory
//
//   - a lock: a type with methods Lock and Unlock, as go vet takes it; or a pointer to one;
//   - a type of package sync, sync/atomic or xsync, or a pointer to one;
//   - a channel;
//   - an embedded pointer to a value that is left out for these reasons.
//
// Values that are filled in when needed are left out as well: time zones, descriptions of types,
// handles.
func leftOut(t reflect.Type) bool {
	if t.PkgPath() == "" && t.Kind() < reflect.Array { // numbers
		return false
	}
	if known, ok := leftOutTypes.Load(t); ok {
		return known.(bool)
	}
	is := isFilledIn(t) || synchronised(t, nil)
	leftOutTypes.Store(t, is)
	return is
}

func isFilledIn(t reflect.Type) bool {
	switch t.PkgPath() {
	case "reflect", "internal/abi":
		return t.Kind() == reflect.Struct
	}
	return t == reflect.TypeFor[time.Location]() || t == reflect.TypeFor[txn]()
}

// synchronised reports whether a value of type t, met in the memory of the types within, is made to
// be changed by several goroutines.
func synchronised(t reflect.Type, within []reflect.Type) bool {
	switch {
	case t.Kind() == reflect.Chan || isLock(t):
		return true
	case t.Kind() == reflect.Pointer:
		return isLock(t.Elem())
	case t.Kind() == reflect.Array:
		return synchronised(t.Elem(), within)
	case t.Kind() != reflect.Struct || slices.Contains(within, t):
		return false
	}
	within = append(within, t)
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Pointer && synchronised(f.Type.Elem(), within) ||
			synchronised(f.Type, within) {
			return true
		}
	}
	return false
}

func isLock(t reflect.Type) bool {
	switch path := t.PkgPath(); path {
	case "sync", "sync/atomic", "internal/sync":
		return true
	default:
		locker := reflect.TypeFor[sync.Locker]()
		return t.Implements(locker) || reflect.PointerTo(t).Implements(locker) ||
			strings.HasPrefix(path, "github.com/puzpuzpuz/xsync/")
	}
}
