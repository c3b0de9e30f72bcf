package gc

// A View is a picture of what is being read. It is immutable.
type View struct {
	// Bound is the epoch below which no transaction begins any more.
	Bound uint64
	// Live has the read epochs below Bound of all live transactions, sorted,
	// without duplicates. There is no limit to their number.
	Live []uint64
}

// Min returns the min visible epoch: no live or future transaction reads below.
func (v *View) Min() uint64 {
	if len(v.Live) > 0 {
		return v.Live[0]
	}
	return v.Bound
}

// ended reports whether an epoch that was live in old is no longer live in v.
func (v *View) ended(old *View) bool {
	live := v.Live
	for _, e := range old.Live {
		for len(live) > 0 && live[0] < e {
			live = live[1:]
		}
		if len(live) == 0 || live[0] != e {
			return true
		}
	}
	return false
}
