package favour

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A model of the queue: the claims in the order in which they were made. One is granted
// if no earlier one that has not ended has a key in common.
type modelClaim struct {
	keys               []int // nil: all
	wide               bool  // waits for all that were made before
	claim              *Claim
	ended, lost, given bool
	since              time.Time
}

// waitsFor reports whether c waits for d, which was made before.
func (c *modelClaim) waitsFor(d *modelClaim) bool {
	return c.wide || d.keys == nil ||
		slices.ContainsFunc(c.keys, func(k int) bool { return slices.Contains(d.keys, k) })
}

func TestAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		inBubble(t, func(t *testing.T, q *Queue) {
			r := rand.New(rand.NewPCG(seed, 0))
			const grantTime = 100 * time.Millisecond
			var claims []*modelClaim
			// settle lets the model follow: claims that time has ended, and grants.
			settle := func() {
				now := time.Now()
				for _, c := range claims {
					if c.given && !c.ended && !c.lost && now.Sub(c.since) >= grantTime {
						c.lost = true
					}
					if c.lost && now.Sub(c.since) >= 2*grantTime {
						c.ended = true
					}
				}
				for i, c := range claims {
					if !c.given && !c.ended && !slices.ContainsFunc(claims[:i], func(d *modelClaim) bool {
						return !d.ended && c.waitsFor(d)
					}) {
						c.given, c.since = true, now
					}
				}
			}
			var quit []*modelClaim // gave up waiting
			for range 60 {
				switch n := r.IntN(10); {
				case n < 5:
					c := &modelClaim{wide: true}
					keys := All()
					if kind := r.IntN(8); kind > 0 {
						c.keys = r.Perm(40)[:1+r.IntN(3)*r.IntN(12)]
						if c.wide = kind == 1; c.wide { // with keys that nobody else claims
							for len(c.keys) <= keyedKeys {
								c.keys = append(c.keys, 1000+len(c.keys))
							}
						}
						keys = setOf(c.keys...)
					}
					c.claim = q.Enter(keys, grantTime)
					claims = append(claims, c)
				case n < 8 && len(claims) > 0:
					c := claims[r.IntN(len(claims))]
					c.claim.End()
					if c.given {
						c.ended = true
					} else {
						quit = append(quit, c)
					}
				default:
					time.Sleep(grantTime / 4)
					synctest.Wait()
				}
				for again := true; again; {
					settle()
					again = false
					for _, c := range quit { // ends as soon as it would be granted
						if c.given && !c.ended {
							c.ended, again = true, true
						}
					}
				}
				for i, c := range claims {
					require.Equal(t, c.given && !c.lost && !c.ended, c.claim.Held(), "seed %d, claim %d of %d",
						seed, i, len(claims))
				}
			}
			for _, c := range claims {
				c.claim.End()
			}
			requireEmpty(t, q)
			time.Sleep(time.Hour)
		})
	}
}
