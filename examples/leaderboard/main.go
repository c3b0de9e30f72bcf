// Leaderboard keeps the best score of each player. To keep a maximum is one step on one key, a
// table is made of a snapshot: its ranks agree with each other, however many scores come in
// while it is made.
package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/mvccmap/mvccmap/mvcc"
)

type board struct {
	best *mvcc.Map[string, int] // by player
}

// report notes a score, if it is the player's best one so far, and reports whether it is.
// The function may be called several times, if others report of the same player: so it sets
// improved each time, and does not only set it to true.
func (b board) report(player string, score int) (improved bool) {
	b.best.Compute(player, func(old int, ok bool) (int, mvcc.ComputeOp) {
		if improved = !ok || score > old; improved {
			return score, mvcc.UpdateOp
		}
		return old, mvcc.CancelOp // writes nothing
	})
	return improved
}

type row struct {
	rank   int
	player string
	score  int
}

// top returns the first n rows of the table. Equal scores have equal ranks.
func (b board) top(n int) (rows []row) {
	for player, score := range b.best.All() { // of one moment, in no order
		rows = append(rows, row{player: player, score: score})
	}
	slices.SortFunc(rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.player, y.player))
	})
	for i := range rows {
		rows[i].rank = i + 1
		if i > 0 && rows[i].score == rows[i-1].score {
			rows[i].rank = rows[i-1].rank
		}
	}
	return rows[:min(n, len(rows))]
}

func main() {
	b := board{mvcc.New[string, int](nil)}
	defer b.best.Close()

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
}
