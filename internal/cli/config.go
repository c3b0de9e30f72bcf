package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mvccmap/mvccmap/internal/results"
)

// configFlag is a flag that names a file with values of other flags: a JSON object
// whose keys are the flags' names without the dashes. Flags that are given on the
// command line win.
type configFlag string

// notInConfig are flags that say what to do rather than how.
var notInConfig = []string{"config", "help", "version"}

// BeforeResolve reads the file; the parser calls it when it knows which command
// there is. Whatever is in the file must be a flag of that command.
func (configFlag) BeforeResolve(ctx *kong.Context, trace *kong.Path) error {
	name := string(ctx.FlagValue(trace.Flag).(configFlag))
	data, err := os.ReadFile(name)
	if err != nil {
		return usagef("--config: expected a file in JSON: %w", err)
	}
	values, err := readConfig(data, ctx.Flags())
	if err != nil {
		return usagef("--config: %s: %w", name, err)
	}
	ctx.AddResolver(kong.ResolverFunc(func(
		ctx *kong.Context, _ *kong.Path, flag *kong.Flag,
	) (any, error) {
		// One of the command line that excludes one of the file wins, too.
		if slices.ContainsFunc(ctx.Path, func(p *kong.Path) bool {
			return p.Flag != nil && !p.Resolved && slices.ContainsFunc(p.Flag.Xor, func(group string) bool {
				return slices.Contains(flag.Xor, group)
			})
		}) {
			return nil, nil
		}
		if v, ok := values[flag.Name]; ok {
			return v, nil
		}
		return nil, nil
	}))
	return nil
}

// readConfig reads an object of numbers, strings, truth values and lists of them. It returns them
// as they would be on the command line: the parser says what is wrong with them.
func readConfig(data []byte, flags []*kong.Flag) (map[string]string, error) {
	object, err := readObject(data)
	if err != nil {
		return nil, err
	}
	known := namesOf(flags, func(f *kong.Flag) string { return f.Name })
	values := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		i := slices.Index(known, key)
		if i < 0 || slices.Contains(notInConfig, key) {
			return nil, fmt.Errorf("unknown key %q; expected the names of flags, without dashes, as in "+
				"--help%s", key, hint(key, known))
		}
		list, isList := object[key].([]any)
		if !isList {
			list = []any{object[key]}
		} else if !flags[i].IsSlice() {
			return nil, fmt.Errorf("%q: expected one value, not a list", key)
		}
		var texts []string
		for _, v := range list {
			switch v.(type) {
			case json.Number, string, bool:
				text := fmt.Sprint(v)
				if isList {
					text = strings.ReplaceAll(text, ",", `\,`)
				}
				texts = append(texts, text)
			default:
				return nil, fmt.Errorf("%q: expected a number, a string, true or false, or a list of them", key)
			}
		}
		values[key] = strings.Join(texts, ",")
	}
	return values, nil
}

// readObject reads an object of JSON, in which no name may stand twice.
func readObject(data []byte) (map[string]any, error) {
	data, err := results.PlainText(data)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // a seed counts to the last digit
	object := map[string]any{}
	begin, err := dec.Token()
	for err == nil && begin == json.Delim('{') && dec.More() {
		var name json.Token
		var value any
		if name, err = dec.Token(); err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			break
		}
		if _, twice := object[name.(string)]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		object[name.(string)] = value
	}
	if err == nil {
		_, err = dec.Token()
	}
	if err != nil || begin != json.Delim('{') {
		return nil, errors.Join(
			errors.New(`expected an object, such as {"threads": [1, 8], "count": 10}`), err)
	}
	if _, after := dec.Token(); after != io.EOF {
		return nil, errors.New("there is something after the object")
	}
	return object, nil
}
