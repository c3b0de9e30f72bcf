// Leaderboard keeps the best score of each player, and the players in the order of their
// scores: the first few are read without a look at the others, and agree with each other however
// many scores come in meanwhile.
package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

type place struct {
	score  int
	player string
}

// byScore has the highest score first, and equal ones by name.
func byScore(a, b place) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.player, b.player))
}

type board struct {
	db     *mvcc.DB
	best   *mvcc.Map[string, int] // by player
	places *mvcc.Map[place, bool] // in order; one for each player
}

func newBoard() board {
	db := mvcc.NewDB(nil)
	return board{
		db:     db,
		best:   mvcc.NewTable[string, int](db, "best", nil),
		places: mvcc.NewOrderedTableFunc[place, bool](db, "places", byScore, nil),
	}
}

// report notes a score, if it is the player's best one so far, and reports whether it is.
func (b board) report(player string, score int) (improved bool) {
	err := b.db.Update(context.Background(), nil, func(tx mvcc.DBTx) error {
		best, places := b.best.In(tx), b.places.In(tx)
		old, ok := best.Get(player)
		if improved = !ok || score > old; !improved {
			return nil
		}
		if ok {
			places.Delete(place{old, player})
		}
		best.Set(player, score)
		places.Set(place{score, player}, true)
		return nil
	})
	return err == nil && improved
}

type row struct {
	rank int
	place
}

// top returns the first n rows of the table. Equal scores have equal ranks.
func (b board) top(n int) (rows []row) {
	for p := range b.places.Ascend(mvcc.Range[place]{}) {
		if len(rows) == n {
			break
		}
		r := row{len(rows) + 1, p}
		if last := len(rows) - 1; last >= 0 && rows[last].score == p.score {
			r.rank = rows[last].rank
		}
		rows = append(rows, r)
	}
	return rows
}

func main() {
	b := newBoard()
	defer b.db.Close()

	fmt.Println(b.report("alice", 700), b.report("alice", 650), b.report("alice", 710))

	var wg sync.WaitGroup
	for range 4 { // everybody plays in several places at once
		wg.Go(func() {
			for _, score := range rand.Perm(1000) {
				b.report("bob", score)
				b.report("carol", score)
				b.report("dave", score/2)
			}
		})
	}
	wg.Wait()
	for _, r := range b.top(3) {
		fmt.Println(r.rank, r.player, r.score)
	}
	fmt.Println(b.places.Len(), "places")
}
