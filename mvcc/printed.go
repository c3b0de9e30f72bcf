package mvcc

import (
	"fmt"
	"reflect"
)

// printed is v as %v prints it; or its type, if fmt would go through very many values for that, or
// through one that has itself within it, and never come back.
func printed(v any) string {
	most := 1000
	if !printable(reflect.ValueOf(v), 0, &most) {
		return fmt.Sprintf("a %T", v)
	}
	return fmt.Sprintf("%v", v)
}

// printable reports whether a value, nested so deep, leads fmt to at most so many values.
func printable(v reflect.Value, depth int, most *int) bool {
	if *most--; *most < 0 || depth > 32 {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer: // of one in another value it prints the address
		return depth > 0 || printable(v.Elem(), depth+1, most)
	case reflect.Interface:
		return printable(v.Elem(), depth+1, most)
	case reflect.Struct:
		for i := range v.NumField() {
			if !printable(v.Field(i), depth+1, most) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !printable(v.Index(i), depth+1, most) {
				return false
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if !printable(i.Key(), depth+1, most) || !printable(i.Value(), depth+1, most) {
				return false
			}
		}
	}
	return true
}
