package commit

import (
	"fmt"
	"math/rand/v2"
)

// Random returns a small program that depends on seed only.
func Random(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	for {
		sc := random(r)
		if _, err := New(sc); err == nil {
			sc.Name = fmt.Sprintf("random program %d", seed)
			return sc
		}
	}
}

// random returns a program that may be too large.
func random(r *rand.Rand) Scenario {
	keys := func(n int) []Key {
		ks := append([]Key(nil), yxz[:2+r.IntN(2)]...)
		r.Shuffle(len(ks), func(i, j int) { ks[i], ks[j] = ks[j], ks[i] })
		return ks[:min(n, len(ks))]
	}
	one := func() Key { return keys(1)[0] }
	op := func(remove bool) Op {
		level := Level(r.IntN(4) / 3)
		switch r.IntN(10) {
		case 0, 1:
			return Load(one())
		case 2, 3:
			if remove && r.IntN(2) == 0 {
				return Delete(one())
			}
			return Store(one())
		case 4:
			if r.IntN(2) == 0 {
				return LoadOrStore(one())
			}
			return Swap(one())
		case 5:
			return View(keys(1 + r.IntN(2))...)
		case 6:
			return Put(keys(2)...)
		default:
			op := Update(keys(1+r.IntN(2)), keys(1+r.IntN(2))).At(level)
			op.Watches = r.IntN(3) == 0
			return op
		}
	}
	sc := Scenario{
		Remove: r.IntN(2) == 0, Unhook: r.IntN(2) == 0, Copy: r.IntN(3) == 0,
		NoClock: r.IntN(3) == 0, Attempts: 1 + r.IntN(2), Again: r.IntN(2) == 0,
		Signs: r.IntN(2) == 0, Switch: r.IntN(2) == 0, Pruners: r.IntN(2), Pruned: x,
	}
	if sc.Remove {
		sc.Pruners = 1
		if r.IntN(2) == 0 {
			sc.Absent = x
		}
	}
	for range 2 + r.IntN(2) {
		var ops []Op
		for range 1 + r.IntN(3) {
			ops = append(ops, op(sc.Remove))
		}
		sc.Procs = append(sc.Procs, ops)
	}
	return sc
}
