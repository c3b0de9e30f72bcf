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
