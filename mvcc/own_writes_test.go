package mvcc

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/internal/engine/hasher"
)

// A transaction finds its own writes, also where keys have the same hash, or hashes next to each
// other, and savepoints are undone.
func TestOwnWritesFound(t *testing.T) {
	for name, hash := range map[string]func(key int) uint64{
		"one hash":         func(int) uint64 { return 1 << 63 },
		"few hashes":       func(key int) uint64 { return uint64(key % 7) },
		"all of their own": func(key int) uint64 { return uint64(key) << 40 },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMap[int, int](t, nil)
			m.index.Hash = hasher.Given(hash)
			const keys = 60
			tx := m.Begin(nil)
			defer tx.Rollback()
			want := map[int]int{}
			check := func() {
				for key := range keys {
					value, ok := tx.Get(key)
					is, there := want[key]
					require.Equal(t, there, ok, key)
					require.Equal(t, is, value, key)
				}
			}
			for round := range 40 {
				undone := round%2 == 1
				before := map[int]int{}
				for key, value := range want {
					before[key] = value
				}
				err := tx.Savepoint(func() error {
					for range 1 + rand.IntN(20) {
						key := rand.IntN(1 + (keys-1)*round/40)
						tx.Set(key, round)
						want[key] = round
					}
					check()
					if undone {
						return errors.New("undone")
					}
					return nil
				})
				require.Equal(t, undone, err != nil)
				if undone {
					want = before
				}
				check()
			}
			require.Greater(t, len(stateOf(tx.st).writes), linearWrites)
		})
	}
}
