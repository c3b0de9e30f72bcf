package bench

import (
	"errors"
	"fmt"
)

// Violation is the error of a run that an engine did not serve correctly. Its
// figures are worthless.
type Violation struct {
	Workload string
	Engine   string
	Threads  int
	Detail   string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("verification violated: workload %s, engine %s, %d threads: %s", v.Workload, v.Engine, v.Threads, v.Detail)
}

// violated makes err, found by a check, into a *Violation.
func (t *Trial) violated(err error) error {
	return &Violation{
		Workload: t.config.Workload.Name,
		Engine:   t.config.Engine.Name,
		Threads:  t.config.Threads,
		Detail:   err.Error(),
	}
}

// failed wraps an error that an operation returned.
func (t *Trial) failed(err error) error {
	if v, ok := errors.AsType[*violation](err); ok {
		return t.violated(v)
	}
	return fmt.Errorf("bench: workload %s, engine %s, %d threads: %w",
		t.config.Workload.Name, t.config.Engine.Name, t.config.Threads, err)
}
