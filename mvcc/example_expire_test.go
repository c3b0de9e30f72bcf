package mvcc_test

import (
	"context"
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/mvcc"
)

// A cache whose entries say until when they are good. Reclaim stands for the background work,
// which would delete what is over by itself.
func ExampleMap_Expire() {
	type page struct {
		text string
		good time.Time
	}
	cache := mvcc.New[string, *page](&mvcc.Options{ManualReclaim: true})
	defer cache.Close()
	cache.Expire(func(_ string, p *page) time.Time { return p.good })

	cache.Store("/", &page{"welcome", time.Now().Add(time.Hour)})
	cache.Store("/news", &page{"nothing new", time.Now().Add(-time.Second)})
	cache.Store("/about", &page{"for good", time.Time{}})
	_ = cache.Reclaim(context.Background())

	_, ok := cache.Load("/news")
	fmt.Println(ok, cache.Len(), cache.Stats().Expired)
	// Output: false 2 1
}
