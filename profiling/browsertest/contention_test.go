package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/planted"
	"github.com/mvccmap/mvccmap/profiling"
)

// plant runs a lock that all goroutines want and a channel that is served slowly,
// until the test ends.
func plant(t *testing.T) {
	var mu sync.Mutex
	lock := func() { planted.HoldLock(&mu, time.Millisecond) }
	c := make(chan int)
	var served sync.WaitGroup
	served.Go(func() {
		for range c {
			time.Sleep(2 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		close(c)
		served.Wait()
	})
	planted.Again(t, lock, lock, lock, func() { plantedSlowChannel(c) })
}

//go:noinline
func plantedSlowChannel(c chan int) { c <- 1 }

// row finds the row of a report with a kind of wait and a function.
const row = `[...document.querySelectorAll("#waits .row")].find(r => r.querySelector(".kind")?.textContent === %q && r.querySelector("summary").title.endsWith(%q))`

// The contention table names the planted lock and channel, in both modes; so
// does the flame graph.
func TestContentionNamesWhatWasPlanted(t *testing.T) {
	for _, form := range []string{"#complete", "#cheap"} {
		t.Run(form[1:], func(t *testing.T) {
			if testing.Short() && form == "#cheap" {
				t.Skip("the tests of package profiling have such a report")
			}
			b := open(t)
			plant(t)
			srv := start(t, profiling.Config{MutexFraction: 1, BlockRate: 1})
			srv.SetPhase("planted waits")
			lock, channel := fmt.Sprintf(row, "mutex", ".HoldLock"), fmt.Sprintf(row, "chan send",
				".plantedSlowChannel")
			// On a machine that is busy enough a second may pass without a wait.
			require.Eventually(t, func() bool {
				require.Equal(t, http.StatusOK, b.visit(srv.URL()+"/debug/pprof/contention/"))
				eval[bool](b, fmt.Sprintf(`(document.querySelector(%q + " input[name=seconds]").value = 1, true)`, form))
				require.Equal(t, http.StatusOK, b.click(form+" button"))
				return eval[bool](b, lock+` !== undefined && `+channel+` !== undefined`)
			}, watchdog, time.Millisecond)
			require.Contains(t, b.text(), "planted waits")
			cells := 5
			if form == "#complete" {
				cells = 7 // p99 and maximum
			}
			require.Equal(t, cells, eval[int](b, lock+`.children.length`))
			require.Positive(t, eval[int](b,
				`parseInt(`+lock+`.querySelector("[data-name=count]").textContent)`))
			// The stack unfolds.
			require.False(t, eval[bool](b, lock+`.querySelector("details").open`))
			eval[bool](b, `(`+lock+`.querySelector("summary").click(), true)`)
			b.await(lock + `.querySelector("details").open`)
			require.Contains(t, eval[string](b, lock+`.innerText`), "Mutex).Lock")
			b.shoot("report")

			report := b.address()
			require.Equal(t, http.StatusOK, b.visit(report+"?kind=chan+send&sort=avg"))
			require.True(t, eval[bool](b, lock+` === undefined && `+channel+` !== undefined`))

			require.Equal(t, http.StatusOK, b.click("#flame"))
			b.await(flame)
			b.shoot("flame")
			flame := b.address()
			for kind, function := range map[string]string{
				"[mutex]": "HoldLock", "[chan send]": "plantedSlowChannel",
			} {
				// Alone, since boxes that are too narrow are not drawn.
				require.Equal(t, http.StatusOK, b.visit(flame+"?f="+function))
				for _, text := range []string{kind, function} {
					b.await(hasBox(text))
				}
			}
			require.Equal(t, http.StatusOK, b.visit(strings.Replace(report, "/contention/", "/ui/",
				1)+"/source?f=HoldLock"))
			require.Contains(t, b.text(), "defer mu.Unlock()")
			b.clean()
		})
	}
}
