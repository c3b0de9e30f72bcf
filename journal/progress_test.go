package journal

import (
	"bytes"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/codec"
	"github.com/mvccmap/mvccmap/mvcc"
)

// numbersTable returns a database, which tells logger, with a table of numbers.
func numbersTable(t *testing.T, logger *slog.Logger) (*mvcc.DB, *mvcc.Map[int, int]) {
	db := mvcc.NewDB(&mvcc.Options{Logger: logger})
	t.Cleanup(db.Close)
	return db, mvcc.NewTable[int, int](db, "numbers", nil)
}

// slowly is a codec that takes its time for the first record of each table.
func slowly(t time.Duration) mvcc.Codec {
	c := codec.JSON
	decoder := c.NewDecoder
	c.NewDecoder = func(r io.Reader) interface{ Decode(any) error } {
		time.Sleep(t)
		return decoder(r)
	}
	return c
}

// While a journal is opened the logger is told every five seconds, and not warned of the transaction that loads.
func TestProgressLines(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db, numbers := numbersTable(t, nil)
		numbers.Store(1, 1)
		j, err := Open(t.Context(), dir, db, codec.JSON, nil)
		require.NoError(t, err)
		require.NoError(t, j.Close())
		db.Close()

		var lines bytes.Buffer
		db, numbers = numbersTable(t, slog.New(slog.NewTextHandler(&lines, nil)))
		j, err = Open(t.Context(), dir, db, slowly(17*time.Second), nil)
		require.NoError(t, err)
		require.Equal(t, 1, numbers.Len())
		time.Sleep(time.Minute) // no line comes later
		synctest.Wait()
		require.NoError(t, j.Close())
		told := strings.Split(strings.TrimSpace(lines.String()), "\n")
		require.Len(t, told, 3, lines.String())
		for i, line := range told {
			require.Contains(t, line, "level=INFO")
			require.Contains(t, line, "since="+strconv.Itoa(5*(i+1))+"s")
			require.Regexp(t, `read=\d+ of=[1-9]\d+ `, line)
		}
	})
}
