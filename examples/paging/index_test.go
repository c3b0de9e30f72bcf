package paging_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/examples/paging"
	"github.com/mvccmap/mvccmap/mvcc"
)

type article struct {
	Title string
	Stars int
}

// Pages of articles by their stars, of which many have the same, while others come and go.
func TestPagesByIndex(t *testing.T) {
	db := mvcc.NewDB(nil)
	defer db.Close()
	articles := mvcc.NewTable[string, article](db, "articles", nil)
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for i, name := range names {
		articles.Store(name, article{"On " + name, i % 2})
	}
	byStars, err := mvcc.NewOrderedIndex(articles, "stars",
		func(_ string, a article) []int { return []int{a.Stars} }, nil)
	require.NoError(t, err)

	var seen []string
	for token, more := "", true; more; more = token != "" {
		page, err := paging.ByIndex(byStars, articles, mvcc.Range[int]{}, token, 3)
		require.NoError(t, err)
		for i, e := range page.Entries {
			seen = append(seen, e.Key)
			require.Equal(t, e.IndexKey, page.Values[i].Stars)
		}
		articles.Delete(page.Entries[len(page.Entries)-1].Key) // where the next page goes on
		articles.Store("0", article{"Too early for the list", 0})
		token = page.Next
	}
	require.Equal(t, []string{"a", "c", "e", "g", "b", "d", "f", "h"}, seen)

	_, err = paging.ByIndex(byStars, articles, mvcc.Range[int]{}, "from elsewhere", 3)
	require.ErrorContains(t, err, `the token "from elsewhere" is none of a page`)
}
