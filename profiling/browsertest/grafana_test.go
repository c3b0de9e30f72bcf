package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/stretchr/testify/require"
)

// Grafana can import the dashboard, and its panels do not overlap.
func TestGrafana(t *testing.T) {
	raw, err := os.ReadFile("../prom/dashboard.json")
	require.NoError(t, err)
	//lint:ignore SA1019 every Grafana imports this version, and only the newest the next one
	var d dashboard.Dashboard
	// without errors it has a list of none
	require.Empty(t, d.UnmarshalJSONStrict(raw), "Grafana's schema")
	require.NoError(t, d.Validate())

	var panels struct {
		Panels []struct {
			ID      int
			GridPos struct{ H, W, X, Y int }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &panels))
	ids, places := map[int]bool{}, map[string]bool{}
	for _, p := range panels.Panels {
		require.False(t, ids[p.ID], "two panels have the number %d", p.ID)
		ids[p.ID] = true
		place := fmt.Sprint(p.GridPos.X, ",", p.GridPos.Y)
		require.False(t, places[place], "two panels are at %s", place)
		places[place] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24)
	}
}
