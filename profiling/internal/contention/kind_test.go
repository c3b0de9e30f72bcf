package contention

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A goroutine that has to wait for the collector while it allocates waits for that,
// and not for what it allocates for.
func TestKindOf(t *testing.T) {
	stack := func(functions ...string) (frames []Frame) {
		for _, f := range functions {
			frames = append(frames, Frame{Func: f})
		}
		return frames
	}
	for _, tt := range []struct {
		reason string
		stack  []Frame
		kind   Kind
	}{
		{"sync", stack("runtime.gcMarkDone", "runtime.gcAssistAlloc", "runtime.mallocgc", "time.Sleep",
			"main.f"), GCWait},
		{"sync", stack("runtime.gcStart", "runtime.mallocgc", "sync.(*Mutex).Lock", "main.f"),
			GCWait},
		{"unspecified", stack("runtime.gcAssistAlloc", "runtime.chanrecv1", "main.f"),
			GCAssist},
		{"sync", stack("internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "sync.(*Once).doSlow",
			"main.f"), Once},
		{"sync", stack("sync.(*Mutex).Lock", "sync.(*Cond).Wait", "main.f"), Mutex},
		{"select", stack("runtime.selectgo", "github.com/mvccmap/mvccmap/internal/favour.(*Claim).Wait",
			"main.f"), Claim},
		{"chan receive", stack("runtime.chanrecv1",
			"github.com/mvccmap/mvccmap/internal/favour.(*Queue).await", "main.f"), Claim},
		{"select", stack("runtime.selectgo", "main.f",
			"github.com/mvccmap/mvccmap/internal/favour.(*Claim).Wait"), Select},
		{"sleep", nil, Sleep},
		{"sync", stack("main.f"), Other},
		{"system goroutine wait", nil, ""},
	} {
		require.Equal(t, tt.kind, kindOf(tt.reason, tt.stack), tt)
	}
	require.Equal(t, "main.f", SiteOf(stack("runtime.chanrecv", "time.Sleep", "main.f",
		"main.main")).Func)
}
