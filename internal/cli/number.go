package cli

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// multiples are what may stand behind a number.
var multiples = map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}

// parseNumber reads a number such as 1000, 1e3, 1k or 1.5M.
func parseNumber(text string) (float64, error) {
	by := 1.0
	if n := len(text); n > 0 && multiples[text[n-1:]] > 0 {
		text, by = text[:n-1], multiples[text[n-1:]]
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xX_") {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return v * by, nil
}

// numberFlags have all flags that are numbers take 1e6 and 1k alike, whether they are whole or not.
func numberFlags() []kong.Option {
	var list []kong.Option
	for _, kind := range []reflect.Kind{reflect.Int, reflect.Uint64, reflect.Float64} {
		list = append(list, kong.KindMapper(kind, kong.MapperFunc(decodeNumber)))
	}
	return list
}

// exact is up to where every whole number is a float64.
const exact = 1 << 53

// decodeNumber sets a flag that is a number.
func decodeNumber(ctx *kong.DecodeContext, target reflect.Value) error {
	what := map[reflect.Kind]string{reflect.Int: "int", reflect.Uint64: "uint", reflect.Float64: "float"}
	t, err := ctx.Scan.PopValue(what[target.Kind()])
	if err != nil {
		return err
	}
	text := fmt.Sprint(t.Value)
	wrong := func(expected string) error {
		return fmt.Errorf("expected %s such as 1000, 1e3 or 1k but got %q (%s)", expected, text,
			what[target.Kind()])
	}
	v, err := parseNumber(text)
	whole := err == nil && v == math.Trunc(v) && math.Abs(v) <= exact
	switch target.Kind() {
	case reflect.Float64:
		if err != nil {
			return wrong("a number")
		}
		target.SetFloat(v)
	case reflect.Int:
		if n, err := strconv.ParseInt(text, 10, strconv.IntSize); err == nil { // to the last digit
			target.SetInt(n)
		} else if whole {
			target.SetInt(int64(v))
		} else {
			return wrong("a whole number")
		}
	default:
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			target.SetUint(n)
		} else if whole && v >= 0 {
			target.SetUint(uint64(v))
		} else {
			return wrong("a whole number of 0 or more")
		}
	}
	return nil
}
