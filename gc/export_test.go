package gc

// Ended reports whether an epoch that was live in old is no longer live in v.
func (v *View) Ended(old *View) bool { return v.ended(old) }

// Aside reports whether the item is set aside.
func (m *Mark) Aside() bool { return m.bits.Load()&markAside != 0 }

// Parked reports whether the ticker says that it is parked.
func (r *Reclaimer[E]) Parked() bool { return r.parked.Load() }

// Unpoke takes back a wake-up that the ticker has not seen yet, and reports
// whether there was one.
func (r *Reclaimer[E]) Unpoke() bool {
	select {
	case <-r.wake:
		return true
	default:
		return false
	}
}
