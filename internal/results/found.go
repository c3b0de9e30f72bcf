package results

import (
	"fmt"
	"strings"

	"github.com/mvccmap/mvccmap/internal/brief"
)

// A FoundRate is the outcome of a search for the highest rate at which limits are kept.
type FoundRate struct {
	Of      string    `json:"of"`                // the combination
	Limits  []string  `json:"limits"`            // that were to be kept
	Rate    float64   `json:"rate,omitempty"`    // operations per second; 0 if none was found
	Above   float64   `json:"above,omitempty"`   // the lowest rate that was tried and does not do
	Samples int       `json:"samples,omitempty"` // that confirm the rate
	Why     string    `json:"why,omitempty"`     // none was found
	Tries   []RateTry `json:"tries"`             // in the order in which they were made
}

// A RateTry is one try of a search.
type RateTry struct {
	Rate float64 `json:"rate"`
	Kept bool    `json:"kept"`
	What string  `json:"what"` // what was measured
}

// String says what was found.
func (f FoundRate) String() string {
	limits := strings.Join(f.Limits, ", ")
	if f.Rate == 0 {
		return fmt.Sprintf("no rate found at which %s keeps %s: %s (%d tries)", f.Of, limits, f.Why,
			len(f.Tries))
	}
	above := ""
	if f.Above > 0 {
		above = fmt.Sprintf("; %s do not", brief.Number(f.Above))
	}
	return fmt.Sprintf("highest rate at which %s keeps %s: %s operations per second, confirmed by %d "+
		"samples%s (%d tries)", f.Of, limits, brief.Number(f.Rate), f.Samples, above, len(f.Tries))
}
