package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
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
	f, err := os.Open(name)
	if err != nil {
		return usagef("--config: expected a file in JSON: %w", err)
	}
	defer f.Close()
	values, err := readConfig(f)
	if err != nil {
		return usagef("--config: %s: %w", name, err)
	}
	for _, v := range values.list {
		if err := v.check(ctx.Flags()); err != nil {
			return usagef("--config: %s: %w", name, err)
		}
	}
	ctx.AddResolver(values)
	return nil
}

// config is what is in the file.
type config struct{ list []setting }

// setting is the value of one flag. A value that is not a list has one element.
type setting struct {
	key    string
	values []string
	isList bool
}

// readConfig reads an object of numbers, strings, truth values and lists of them.
// A key that is there twice, which a JSON library would not notice, is an error.
func readConfig(r io.Reader) (*config, error) {
	dec := json.NewDecoder(r)
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		wrong := errors.New(`expected an object, such as {"threads": [1, 8], "count": 10}`)
		if err != io.EOF {
			wrong = errors.Join(wrong, err)
		}
		return nil, wrong
	}
	c := new(config)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, endless(err)
		}
		s := setting{key: t.(string)} // the decoder lets nothing else through
		if slices.ContainsFunc(c.list, func(o setting) bool { return o.key == s.key }) {
			return nil, fmt.Errorf("%q is there twice", s.key)
		}
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("%q: %w", s.key, endless(err))
		}
		elements, isList := v.([]any)
		if s.isList = isList; !isList {
			elements = []any{v}
		}
		for _, e := range elements {
			switch e.(type) {
			case json.Number, string, bool:
				s.values = append(s.values, fmt.Sprint(e))
			default:
				return nil, fmt.Errorf("%q: expected a number, a string, true or false, or a list of them",
					s.key)
			}
		}
		c.list = append(c.list, s)
	}
	if _, err := dec.Token(); err != nil {
		return nil, endless(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is something after the object")
	}
	return c, nil
}

// endless says what an end in the middle of the object means.
func endless(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("it ends before the object does; expected a brace")
	}
	return err
}

// text returns the value as it would be on the command line.
func (s *setting) text() string {
	if !s.isList {
		return s.values[0]
	}
	return strings.Join(namesOf(s.values, func(v string) string {
		return strings.ReplaceAll(v, ",", `\,`)
	}), ",")
}

// check makes sure that there is such a flag and that it takes the value.
func (s *setting) check(flags []*kong.Flag) error {
	i := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == s.key })
	if i < 0 || slices.Contains(notInConfig, s.key) {
		return fmt.Errorf("unknown key %q; expected the names of flags, without dashes, as in --help%s",
			s.key, similar(s.key, flags))
	}
	f := flags[i]
	if s.isList && !f.IsSlice() {
		return fmt.Errorf("%q: expected one value, not a list", s.key)
	}
	scan := kong.Scan().PushTyped(s.text(), kong.FlagValueToken)
	target := reflect.New(f.Target.Type()).Elem()
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
	}
	if err := f.Mapper.Decode(&kong.DecodeContext{Value: f.Value, Scan: scan}, target); err != nil {
		return fmt.Errorf("%q: %w", s.key, err)
	}
	if f.Enum != "" {
		for _, v := range s.values {
			if !slices.Contains(f.EnumSlice(), v) {
				return fmt.Errorf("%q: expected one of %s, not %q", s.key, strings.Join(f.EnumSlice(), ", "), v)
			}
		}
	}
	return nil
}

// similar returns a remark if a flag has nearly that name.
func similar(key string, flags []*kong.Flag) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s))
	}
	for _, f := range flags {
		if a, b := plain(f.Name), plain(key); f.Name != key && (a == b || a == b+"s" || a+"s" == b) {
			return fmt.Sprintf(" (is it %q?)", f.Name)
		}
	}
	return ""
}

// Validate implements [kong.Resolver]. Everything has been checked already, against
// the flags of the command that runs.
func (c *config) Validate(*kong.Application) error { return nil }

// Resolve implements [kong.Resolver]. A flag of the command line that excludes one
// of the file wins, too.
func (c *config) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Resolved {
			continue
		}
		if slices.ContainsFunc(p.Flag.Xor, func(group string) bool {
			return slices.Contains(flag.Xor, group)
		}) {
			return nil, nil
		}
	}
	for i := range c.list {
		if s := &c.list[i]; s.key == flag.Name {
			return s.text(), nil
		}
	}
	return nil, nil
}
