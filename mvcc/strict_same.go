package mvcc

import "reflect"

// same reports whether a and b say the same, as far as can be seen: functions and channels do if
// both are nil or neither is, a NaN is the same as another one, and what lies deep is not looked at.
func same[T any](a, b T) bool {
	return alike(reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem(), 0)
}

func alike(a, b reflect.Value, depth int) bool {
	const deep = 32 // as of a list that ends in itself
	switch a.Kind() {
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return a.Uint() == b.Uint()
	case reflect.String:
		return a.String() == b.String()
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return a.Equal(b) || !a.Equal(a) && !b.Equal(b)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return a.IsNil() == b.IsNil()
	case reflect.Interface, reflect.Pointer:
		switch {
		case a.IsNil() || b.IsNil():
			return a.IsNil() == b.IsNil()
		case a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() || depth > deep:
			return true
		}
		return a.Elem().Type() == b.Elem().Type() && alike(a.Elem(), b.Elem(), depth+1)
	case reflect.Struct:
		for i := range a.NumField() {
			if !alike(a.Field(i), b.Field(i), depth+1) {
				return false
			}
		}
		return true
	case reflect.Array, reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i), depth+1) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, key := range a.MapKeys() {
			other := b.MapIndex(key)
			if key.Equal(key) && !(other.IsValid() && alike(a.MapIndex(key), other, depth+1)) {
				return false
			}
		}
		return true
	}
	return true
}
