package seam

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Printed returns v as %v prints it; or its type, if fmt would print very many values, or never end
// because a value has itself within it.
func Printed(v any) string {
	most := 1000
	if !printable(reflect.ValueOf(v), 0, &most) {
		return fmt.Sprintf("a %T", v)
	}
	return fmt.Sprintf("%v", v)
}

// printable reports whether v, nested depth deep, leads fmt to at most *most values.
func printable(v reflect.Value, depth int, most *int) bool {
	if *most--; *most < 0 || depth > 32 {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer: // fmt prints the address of a pointer within another value
		return depth > 0 || printable(v.Elem(), depth+1, most)
	case reflect.Interface:
		return printable(v.Elem(), depth+1, most)
	case reflect.Struct:
		for _, field := range v.Fields() {
			if !printable(field, depth+1, most) {
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

// KeyText returns a key as text for an error.
func KeyText(key any) string {
	const longest = 100
	text := Printed(key)
	if reflect.ValueOf(key).Kind() == reflect.String {
		if text = fmt.Sprintf("%q", key); strings.ContainsRune(text, utf8.RuneError) {
			text = fmt.Sprintf("%+q", key)
		}
	}
	if len(text) > longest {
		text = fmt.Sprintf("%s... (%d bytes)", text[:longest], len(text))
	}
	return text
}

// ErrGoexit is the error for a function that calls runtime.Goexit.
var ErrGoexit = errors.New("it has ended its goroutine (runtime.Goexit)")

// Panicked returns the error for a panic with the value p.
func Panicked(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("it panics: %w", err)
	}
	return fmt.Errorf("it panics: %v", p)
}
