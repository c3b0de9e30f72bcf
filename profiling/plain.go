package profiling

import (
	"strings"
	"unicode"

	"github.com/google/pprof/profile"
)

// makePlain takes out of what the driver writes into the program of the dot command
// as it is what could end a text there, and links to other sites. The values of
// labels, such as the paths of requests, are often chosen by strangers.
func makePlain(p *profile.Profile) {
	p.DocURL = ""
	for _, m := range p.Mapping {
		m.File = plainText(m.File)
	}
	p.DefaultSampleType = plainText(p.DefaultSampleType)
	for _, t := range p.SampleType {
		t.Type, t.Unit = plainText(t.Type), plainText(t.Unit)
	}
	for _, s := range p.Sample {
		s.Label, s.NumLabel, s.NumUnit = plainNames(s.Label), plainNames(s.NumLabel), plainNames(s.NumUnit)
		for _, labels := range []map[string][]string{s.Label, s.NumUnit} {
			for _, list := range labels {
				for i, text := range list {
					list[i] = plainText(text)
				}
			}
		}
	}
}

// plainNames returns labels under plain names.
func plainNames[V any](labels map[string][]V) map[string][]V {
	for name := range labels {
		if plainText(name) != name {
			all := map[string][]V{}
			for name, values := range labels {
				all[plainText(name)] = append(all[plainText(name)], values...)
			}
			return all
		}
	}
	return labels
}

// plainText returns a text without double quotes, escapes and control characters.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case r == '\\':
			return '/'
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, text)
}
