package cli

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/mvccmap/mvccmap/bench"
	"github.com/mvccmap/mvccmap/internal/proof/soak"
)

// runCmd is "mvccbench run". The fields are the flags.
type runCmd struct {
	//lint:ignore SA5008 kong takes each set
	sweepFlags `embed:"" set:"engines=mvcc,rwmutex" set:"count=7" set:"count_help=benchstat wants at least 6, and compare --gate 7 if there are many"`

	Quiet bool `help:"Report no progress and no summary." short:"q" group:"Measuring"`

	intervalFlags `embed:""`
	outputFlags   `embed:""`
	profileFlags  `embed:""`
	limitFlags    `embed:""`
	slowFlags     `embed:""`

	HTTP string `name:"http" help:"Serve profiles of the running program on ADDR; auto is ${http_addr}, or a free port if that is taken; \"off\" or an empty address for none." default:"auto" placeholder:"ADDR" group:"Profiles in the browser"`
}

// sweepFlags are the combinations measured, and how long.
type sweepFlags struct {
	Workload []string `help:"Workloads to run: ${enum_workloads}." default:"${workloads}" placeholder:"NAME" group:"What to run"`
	Engine   []string `help:"Maps to run them on: ${enum_engines}. Their samples alternate." default:"${engines}" placeholder:"NAME" group:"What to run"`
	Threads  []int    `help:"Numbers of goroutines, each of which is measured. Default: 1,2,4,8." placeholder:"N" group:"What to run"`

	Count    int            `help:"Samples of each combination; ${count_help}." default:"${count}" placeholder:"N" group:"How long"`
	Duration *time.Duration `help:"Length of a sample. Default: ${duration}." placeholder:"TIME" xor:"length" group:"How long"`
	Ops      *uint64        `help:"Operations of a sample, of all goroutines together, instead of a length." placeholder:"N" xor:"length" group:"How long"`
	Warmup   time.Duration  `help:"Length of the warm-up before each sample." default:"50ms" placeholder:"TIME" group:"How long"`

	loadFlags `embed:""`
}

// loadFlags are the load.
type loadFlags struct {
	Rate    []float64 `help:"Operations to start in a second, each when it is due (open loop): they wait in one queue for whichever goroutine is free, and response times count from when they were due. 0 or nothing: each goroutine starts the next when the last has ended (closed loop)." placeholder:"OPS/S" xor:"load" group:"Load"`
	Arrival string    `help:"With --rate or --find-rate: operations come at fixed distances, or at random like requests of many users: fixed or poisson." enum:"fixed,poisson" default:"fixed" placeholder:"KIND" group:"Load"`
	Retries *int      `help:"Retry an operation that does not commit so many times at most, then give it up and count an error (err/s). Without the flag it is retried until it commits." placeholder:"N" group:"Load"`

	AuditInterval time.Duration `help:"Time from one audit to the next; 0 for no pause between them." default:"${audit_interval}" placeholder:"TIME" group:"Load"`
	LatencySample int           `help:"Time one operation in N, at random distances; 0 chooses N so that reading the clock takes less than 1 % of the time." default:"0" placeholder:"N" group:"Load"`
	Seed          uint64        `help:"Seed of all random choices." default:"1" placeholder:"N" group:"Load"`

	Keys      []int     `help:"Numbers of keys." placeholder:"N" group:"Parameters of the workloads (defaults: see list; run and ab measure each of several)"`
	Theta     []float64 `help:"Skews of the Zipf distribution, from 0 (uniform) up." placeholder:"X" group:"Parameters of the workloads (defaults: see list; run and ab measure each of several)"`
	ReadPct   []int     `help:"Percentages of operations that read." placeholder:"PCT" group:"Parameters of the workloads (defaults: see list; run and ab measure each of several)"`
	TxnSize   []int     `help:"Numbers of operations in a transaction." placeholder:"N" group:"Parameters of the workloads (defaults: see list; run and ab measure each of several)"`
	ValueSize []string  `help:"Bytes of a value, such as 100, or 16-1024 for sizes at random between the two." placeholder:"BYTES" group:"Parameters of the workloads (defaults: see list; run and ab measure each of several)"`
	Isolation []string  `help:"Levels of read-write transactions: serializable, snapshot. Default: serializable." placeholder:"LEVEL" group:"Parameters of the workloads (defaults: see list; run and ab measure each of several)"`
}

// vars are the names in the tags of the flags that come from elsewhere.
func vars(p Program) kong.Vars {
	measured, served := "read-heavy,transfer,audited", "transfer"
	if len(p.Default) > 0 {
		measured, served = strings.Join(p.Default, ","), p.Default[0]
	}
	return kong.Vars{
		"version":        p.Name + " " + version(),
		"enum_workloads": strings.Join(namesOf(p.Workloads, nameOf), ", "),
		"workloads":      measured,
		"workload":       served,
		"enum_kinds":     strings.Join(kindNames(), ","),
		"enum_engines":   strings.Join(engineNames(p.Engines), ", "),
		"duration":       defaultDuration.String(),
		"audit_interval": bench.DefaultAuditInterval.String(),
		"http_addr":      exampleHTTP,
		"program":        p.Name,
	}
}

// namesOf returns the names of the elements of a list.
func namesOf[T any](list []T, name func(T) string) []string {
	var names []string
	for _, v := range list {
		names = append(names, name(v))
	}
	return names
}

func nameOf(w bench.Workload) string { return w.Name }

func engineNames(engines []bench.EngineSpec) []string {
	return namesOf(engines, func(e bench.EngineSpec) string { return e.Name })
}

func kindNames() []string {
	return namesOf(soak.Kinds(), func(k soak.Kind) string { return string(k) })
}

// defaultDuration is the length of a sample unless the flags say otherwise.
const defaultDuration = 200 * time.Millisecond

// multiples are the units that may stand behind a number.
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

// exact is the bound up to which every whole number is a float64.
const exact = 1 << 53

// decodeNumber sets a flag that is a number, whole or not: 1e6 and 1k are numbers too.
func decodeNumber(ctx *kong.DecodeContext, target reflect.Value) error {
	kind := strings.TrimRight(target.Kind().String(), "64")
	expects := map[string]string{"int": "a whole number", "uint": "a whole number of 0 or more",
		"float": "a number"}[kind]
	t, err := ctx.Scan.PopValue(kind)
	if err != nil {
		return err
	}
	text := fmt.Sprint(t.Value)
	v, err := parseNumber(text)
	whole := v == math.Trunc(v) && math.Abs(v) <= exact
	switch target.Kind() {
	case reflect.Float64:
		target.SetFloat(v)
	case reflect.Int:
		if n, why := strconv.Atoi(text); why == nil { // to the last digit
			target.SetInt(int64(n))
			return nil
		}
		target.SetInt(int64(v))
	default:
		if n, why := strconv.ParseUint(text, 10, 64); why == nil {
			target.SetUint(n)
			return nil
		}
		whole = whole && v >= 0
		target.SetUint(uint64(v))
	}
	if err != nil || !whole && target.Kind() != reflect.Float64 {
		return fmt.Errorf("expected %s such as 1000, 1e3 or 1k but got %q (%s)", expects, text, kind)
	}
	return nil
}

// CheckNames checks a list of names: known, and named once.
func CheckNames(flag, what string, names, known []string) error {
	for i, name := range names {
		if !slices.Contains(known, name) {
			return usagef("%s: unknown %s %q; expected one or more of %s", flag, what, name,
				strings.Join(known, ", "))
		}
		if slices.Contains(names[:i], name) {
			return usagef("%s: %s %q is named twice", flag, what, name)
		}
	}
	return nil
}

const forever = time.Duration(math.MaxInt64)

// within says of a number whether it is from low to high.
func within[T cmp.Ordered](low, high T) func(T) bool {
	return func(n T) bool { return low <= n && n <= high }
}

// numbers checks the values of a flag, none of which may be there twice.
func numbers[T comparable](flag string, list []T, expects string, ok func(T) bool) error {
	for i, n := range list {
		if !ok(n) {
			return usagef("%s: expected %s, not %v", flag, expects, n)
		}
		if slices.Contains(list[:i], n) {
			return usagef("%s: %v is given twice", flag, n)
		}
	}
	return nil
}

// given returns the value of a flag or, if it was not set, its default.
func given[T any](flag *T, otherwise T) T {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// listOf returns the value of a flag, if it was given.
func listOf[T any](v *T) []T {
	if v == nil {
		return nil
	}
	return []T{*v}
}
