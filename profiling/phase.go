package profiling

import (
	"sync/atomic"
	"time"
)

// A phase says what the program does, and since when.
type phase struct {
	Label string
	Since time.Time // zero if unknown
}

// A phaseSource knows the current phase. Its methods may be called from
// several goroutines.
type phaseSource struct {
	set  atomic.Pointer[phase] // by SetPhase; nil before the first call
	call func() string         // Config.Phase, may be nil
}

// now returns the current phase; an empty label means that nobody told.
func (s *phaseSource) now() phase {
	if p := s.set.Load(); p != nil {
		return *p
	}
	if s.call != nil {
		return phase{Label: s.call()}
	}
	return phase{}
}
