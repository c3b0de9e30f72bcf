package paging

import (
	"encoding/json"
	"fmt"

	"github.com/mvccmap/mvccmap/mvcc"
)

// Nothing waits for the next request of a list that is read by an index: the token that the client
// sends back has the last entry of its page. The pages are not of one moment, but each record that
// was there all the time, and kept its index key, is on one of them.

// A Page is a part of a list.
type Page[I, K comparable, V any] struct {
	Entries []mvcc.Entry[I, K]
	Values  []V
	Next    string // the token of the next page, "" at the end
}

// ByIndex returns the page of n records with index keys in the range that comes behind a token: the
// first one behind "". It returns an error if the token was not made by a Page of such an index.
func ByIndex[I, K comparable, V any](
	ix *mvcc.Index[I, K, V], r mvcc.Reader[K, V], keys mvcc.Range[I], token string, n int,
) (page Page[I, K, V], err error) {
	var after *mvcc.Entry[I, K]
	if token != "" {
		if err := json.Unmarshal([]byte(token), &after); err != nil {
			return page, fmt.Errorf("the token %q is none of a page: %w", token, err)
		}
	}
	for e, value := range ix.AscendEntries(r, keys, after) {
		if len(page.Entries) == n { // there is one more
			last, err := json.Marshal(page.Entries[n-1])
			page.Next = string(last)
			return page, err
		}
		page.Entries = append(page.Entries, e)
		page.Values = append(page.Values, value)
	}
	return page, nil
}
