package bench

import (
	"errors"
	"fmt"
)

// Violation is the error of a run that an engine has not served correctly. Its figures are
// worthless.
type Violation struct {
	Workload string
	Engine   string
	Threads  int
	Detail   string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("verification violated: workload %s, engine %s, %d threads: %s",
		v.Workload, v.Engine, v.Threads, v.Detail)
}

// violation is what a check found wrong; the [Trial] makes a [*Violation] of it.
type violation struct {
	key    string
	detail string
}

func (v *violation) Error() string {
	if v.key == "" {
		return v.detail
	}
	return fmt.Sprintf("key %q: %s", v.key, v.detail)
}

func wrong(key, format string, args ...any) error {
	return &violation{key: key, detail: fmt.Sprintf(format, args...)}
}

// wrongValue is the violation that err, or a flaw of the value itself, makes.
func wrongValue[V any](key string, values *values[V], v V, ok bool, err error) error {
	if ok {
		if flaw := values.flaw(v); flaw != "" {
			return &violation{key: key, detail: flaw}
		}
	}
	return &violation{key: key, detail: err.Error()}
}

// failed wraps an error that an operation or a check returned.
func (t *Trial) failed(err error) error {
	w, e, n := t.config.Workload.Name, t.config.Engine.Name, t.config.Threads
	if v, ok := errors.AsType[*violation](err); ok {
		return &Violation{Workload: w, Engine: e, Threads: n, Detail: v.Error()}
	}
	return fmt.Errorf("bench: workload %s, engine %s, %d threads: %w", w, e, n, err)
}

// Verify checks what the goroutines have left behind against what they know of
// it, as the package comment says. It returns nil, a [*Violation], or the
// failure that ended the last run. It takes time in proportion to the number of
// keys times goroutines.
func (t *Trial) Verify() error {
	if t.failure == nil {
		if err := t.rig.verify(); err != nil {
			t.failure = t.failed(err)
		}
	}
	return t.failure
}
