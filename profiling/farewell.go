package profiling

import (
	"sync"
	"time"

	"github.com/mvccmap/mvccmap/profiling/internal/charts"
)

// A farewell tells the dashboards that are open that the program has finished, so that they need
// not guess why it is gone. The zero value is ready. Its methods may be called from several
// goroutines.
type farewell struct {
	mu    sync.Mutex
	asked map[string]time.Time // when each dashboard last asked, and was not told
	told  chan struct{}        // closed when all are told; nil before say
}

// patience is how long dashboards are waited for, each of which asks once a second. Tests raise it.
var patience = 2 * charts.Interval

// maxDashboards bounds the memory of a farewell. The others have to guess.
const maxDashboards = 100

// note says that the dashboard of that name asks now, and reports whether it is to be told.
func (f *farewell) note(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told != nil {
		if _, waited := f.asked[name]; waited {
			if delete(f.asked, name); len(f.asked) == 0 {
				close(f.told)
			}
		}
		return true
	}
	f.forget()
	if f.asked == nil {
		f.asked = map[string]time.Time{}
	}
	if len(f.asked) < maxDashboards {
		f.asked[name] = time.Now()
	}
	return false
}

// forget drops the dashboards that do not ask any more.
func (f *farewell) forget() {
	for name, at := range f.asked {
		if time.Since(at) > patience {
			delete(f.asked, name)
		}
	}
}

// say waits until the dashboards have been told, if there are any.
func (f *farewell) say() {
	f.mu.Lock()
	f.forget()
	f.told = make(chan struct{})
	waited := len(f.asked)
	f.mu.Unlock()
	if waited == 0 {
		return
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-f.told:
	case <-late.C:
	}
}
