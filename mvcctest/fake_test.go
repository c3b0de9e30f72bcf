package mvcctest

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/debug/leak"
	"github.com/mvccmap/mvccmap/mvcc"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

var bg = context.Background()

type (
	table = mvcc.Map[int, int]
	txn   = mvcc.Tx[int, int]
)

// A fake is a test that notes its failures.
type fake struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (f *fake) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

func (f *fake) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }

// end ends the fake test, and returns its failures.
func (f *fake) end() []string {
	for _, c := range slices.Backward(f.cleanups) {
		c()
	}
	f.cleanups = nil
	return f.failures
}

var calls = regexp.MustCompile(`\n\tat (\S+) \(([^)]+)\)`)

// requireFailure requires that there was one failure, which says so, and where in this package it
// was.
func requireFailure(t *testing.T, failures []string, text string) {
	t.Helper()
	require.Len(t, failures, 1, strings.Join(failures, "\n"))
	require.Contains(t, failures[0], "mvcctest: ")
	require.Contains(t, failures[0], text)
	at := calls.FindStringSubmatch(failures[0])
	require.NotNil(t, at, failures[0])
	require.Contains(t, filepath.Base(at[2]), "_test.go:", failures[0])
	require.NotContains(t, failures[0], "/mvcc/")
}

// shop returns a database with an ordered table users, in which 1 is 10, and another one.
func shop(o *mvcc.Options) (db *mvcc.DB, users, orders *table) {
	db = mvcc.NewDB(o)
	users = mvcc.NewOrderedTable[int, int](db, "users", nil)
	users.Store(1, 10)
	return db, users, mvcc.NewTable[int, int](db, "orders", nil)
}
