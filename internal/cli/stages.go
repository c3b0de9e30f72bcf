package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/mvccmap/mvccmap/bench"
)

// stages reads the stages of --stages.
func stages(texts []string) (bench.Stages, error) {
	var list bench.Stages
	for _, text := range texts {
		wrong := func() error {
			return usagef("--stages: expected a time above 0 and operations per second up to %d, such as "+
				"10s:1k, or 30s:1k-10k for a ramp, not %q", int(bench.MaxRate), text)
		}
		length, rates, ok := strings.Cut(text, ":")
		from, to, ramp := strings.Cut(rates, "-")
		if !ramp {
			to = from
		}
		g := bench.Stage{}
		var errs [3]error
		g.For, errs[0] = time.ParseDuration(length)
		g.From, errs[1] = parseNumber(from)
		g.To, errs[2] = parseNumber(to)
		fine := within(0, bench.MaxRate)
		if !ok || errors.Join(errs[:]...) != nil || g.For <= 0 || !fine(g.From) || !fine(g.To) {
			return nil, wrong()
		}
		list = append(list, g)
	}
	if len(list) > 0 && list.Ops() < 1 {
		return nil, usagef("--stages: less than one operation comes in all of them; expected higher " +
			"rates, or longer stages")
	}
	return list, nil
}
