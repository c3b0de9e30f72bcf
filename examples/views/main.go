// Views keeps two things that are made from a table, and follow it by a watch: the number of
// products of each kind, and a cache of pages. The cache never serves a page that is older than
// a commit of its product that it was told of.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

type product struct {
	kind  string
	price int
}

type views struct {
	products *mvcc.Map[string, product]

	mu       sync.Mutex
	moved    *sync.Cond
	kinds    map[string]int
	pages    map[string]string
	told     uint64 // the epoch that the watch has got to
	rendered int
}

func newViews(products *mvcc.Map[string, product]) *views {
	v := &views{products: products, pages: map[string]string{}}
	v.moved = sync.NewCond(&v.mu)
	return v
}

// follow keeps the views right until ctx ends. If it was too slow it begins anew.
func (v *views) follow(ctx context.Context) error {
	for {
		s := v.products.Snapshot()
		v.begin(s)
		commits := v.products.Watch(ctx, &mvcc.WatchOptions[string, product]{Since: s})
		s.Close()
		for c, err := range commits {
			if errors.Is(err, mvcc.ErrGap) {
				break
			}
			if err != nil {
				return err
			}
			v.apply(c)
		}
	}
}

// begin makes the views of a snapshot.
func (v *views) begin(s mvcc.Snapshot[string, product]) {
	kinds := map[string]int{}
	for _, p := range s.All() {
		kinds[p.kind]++
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kinds, v.told = kinds, s.Epoch()
	clear(v.pages)
	v.moved.Broadcast()
}

func (v *views) apply(c mvcc.Commit[string, product]) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, change := range c.Changes {
		if change.Had {
			v.kinds[change.Old.kind]--
		}
		if change.Has {
			v.kinds[change.New.kind]++
		}
		delete(v.pages, change.Key)
	}
	v.told = c.Epoch
	v.moved.Broadcast()
}

// page returns the page of a product, rendered or from the cache.
func (v *views) page(name string) (page string) {
	v.mu.Lock()
	page, ok := v.pages[name]
	v.mu.Unlock()
	if ok {
		return page
	}
	_ = v.products.View(func(s mvcc.Snapshot[string, product]) error {
		p, _ := s.Get(name)
		page = fmt.Sprintf("%s: %d", name, p.price)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.rendered++
		if s.Epoch() >= v.told { // else the product may have changed since
			v.pages[name] = page
		}
		return nil
	})
	return page
}

// wait waits until the views have the commits up to an epoch.
func (v *views) wait(epoch uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.told < epoch {
		v.moved.Wait()
	}
}

func main() {
	products := mvcc.New[string, product](nil)
	defer products.Close()
	products.Store("tea", product{"drink", 3})
	v := newViews(products)
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() {
		if err := v.follow(ctx); !errors.Is(err, context.Canceled) {
			log.Print(err)
		}
	})
	v.wait(1)
	fmt.Println(v.page("tea"), v.page("tea"), "rendered", v.rendered)

	var committed uint64
	err := products.Update(ctx, nil, func(tx mvcc.Tx[string, product]) error {
		tx.Set("tea", product{"drink", 4})
		tx.Set("cup", product{"thing", 9})
		tx.OnCommit(func(epoch uint64) { committed = epoch })
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	v.wait(committed)
	fmt.Println(v.page("tea"), v.page("tea"), "rendered", v.rendered, v.kinds)
	cancel()
	following.Wait()
}
