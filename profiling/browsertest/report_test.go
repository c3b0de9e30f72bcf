package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReport: the charts of a run are a file, which shows all that is in it without a server, and
// fits on every screen, light or dark.
func TestReport(t *testing.T) {
	b := open(t)
	file := filepath.Join(t.TempDir(), "charts.html")
	for _, threads := range []string{"1,2,8", "2"} {
		cmd := exec.Command(build(t, "cmd/mvccbench"), "--workload", "counter,zipf-read",
			"--engine", "mvcc,mvcc-direct,rwmutex,mutex,sync.Map,xsync", "--theta", "0,0.9",
			"--threads", threads, "--count", "2", "--duration", "10ms", "--warmup", "0",
			"--http", "off", "-q", "--report", file)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Run())
		b.fits("report-"+threads, "file://"+file, func() {
			planned := eval[int](b, `JSON.parse(data.textContent).flatMap(s => s.charts).length`)
			require.Greater(t, planned, 5)
			require.Equal(t, planned, eval[int](b, `document.querySelectorAll(".chart canvas").length`))
			require.Equal(t, 0, eval[int](b, `[...document.querySelectorAll(".chart")]
				.filter(card => card.querySelector(".legend").innerText.includes("undefined")
					|| card.querySelectorAll(".legend svg").length === 0).length`))
		})
		require.Equal(t, 2, eval[int](b, `document.querySelectorAll("details table").length`))
	}
	b.clean()
}
