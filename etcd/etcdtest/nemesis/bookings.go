package nemesis

import (
	"fmt"
	"time"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A booking is a record with index keys: Seat is unique.
type booking struct{ Room, Seat, Weight int }

// The bounds of bookings: hall i has rooms 2*i and 2*i+1.
const (
	halls     = 3
	hallSeats = 3            // bookings of a hall, in either room
	heavyFrom = 50           // the weight of a heavy booking
	heavy     = 3            // of all bookings
	seatNames = 4 * halls    // that there are
	own       = 3            // bookings of a worker
	bookers   = "bookings: " // the beginning of complaints
)

// bookings is a table with its indexes.
type bookings struct {
	*etcd.Table[string, booking]
	byRoom   *mvcc.Index[int, string, booking]
	bySeat   *mvcc.Index[int, string, booking]
	byWeight *mvcc.Index[int, string, booking]
}

func newBookings(s *etcd.Schema) (b bookings, err error) {
	b.Table = etcd.NewTable[string, booking](s, "bookings", nil)
	if b.byRoom, err = etcd.NewIndex(b.Table, "room",
		func(_ string, v booking) []int { return []int{v.Room} }, nil); err != nil {
		return b, err
	}
	if b.bySeat, err = etcd.NewIndex(b.Table, "seat",
		func(_ string, v booking) []int { return []int{v.Seat} }, &mvcc.IndexOptions{Unique: true}); err != nil {
		return b, err
	}
	b.byWeight, err = etcd.NewOrderedIndex(b.Table, "weight",
		func(_ string, v booking) []int { return []int{v.Weight} }, nil)
	return b, err
}

// inHall returns the keys of the bookings of the hall of a room, as the index has them.
func (b *bookings) inHall(r mvcc.Reader[string, booking], room int) (keys []string) {
	for _, one := range []int{room, room ^ 1} { // one of them is empty often
		for key := range b.byRoom.Get(r, one) {
			keys = append(keys, key)
		}
	}
	return keys
}

// check returns the first violation in the bookings that a view sees.
func (b *bookings) check(s mvcc.DBSnapshot) error {
	in := b.At(s)
	var rooms [2 * halls]int
	seat, heavies := map[int]string{}, 0
	for key, v := range in.All() {
		rooms[v.Room]++
		if other, taken := seat[v.Seat]; taken {
			return fmt.Errorf(bookers+"%s and %s both have seat %d", key, other, v.Seat)
		}
		if seat[v.Seat] = key; v.Weight >= heavyFrom {
			heavies++
		}
	}
	for room, n := range rooms {
		if n += rooms[room^1]; n > hallSeats {
			return fmt.Errorf(bookers+"hall %d has %d, want at most %d", room/2, n, hallSeats)
		}
		if found := len(b.inHall(in, room)); found != n {
			return fmt.Errorf(bookers+"hall %d has %d, and %d by the index", room/2, n, found)
		}
	}
	for n, key := range seat {
		if found, _, _ := b.bySeat.First(in, n); found != key {
			return fmt.Errorf(bookers+"%s has seat %d, and %q by the index", key, n, found)
		}
	}
	if n := b.byWeight.Count(in, mvcc.From(heavyFrom)); heavies > heavy || n != heavies {
		return fmt.Errorf(bookers+"%d are heavy, and %d by the index, want at most %d", heavies, n, heavy)
	}
	return nil
}

// book makes, moves or deletes a booking: whether it may depends on index keys only, which others change by
// bookings of their own.
func (w *worker) book() {
	r := w.replica()
	b, room, seat := &r.bookings, w.r.IntN(2*halls), w.r.IntN(seatNames)
	me, how, pick := fmt.Sprint(w.process, "/", w.r.IntN(own)), w.r.IntN(10), w.r.IntN(1<<20)
	w.update(r, func(tx mvcc.DBTx) error {
		in := b.In(tx)
		v, mine := in.Get(me)
		switch {
		case how < 6 || !mine:
			all := b.inHall(in, room)
			if len(all) == hallSeats || len(all) == 2 && pick%3 == 0 {
				in.Delete(all[pick%len(all)])
			} else if v.Room = room; mine {
				in.Set(me, v)
			} else {
				in.Set(me, booking{Room: room, Seat: seat}) // maybe it is taken, as far as is known here
			}
		case how < 8:
			if key, other, taken := b.bySeat.First(in, seat); !taken {
				v.Seat = seat
				in.Set(me, v)
			} else if key != me {
				in.Delete(key)
				v.Seat, v.Room = other.Seat, other.Room // and take all of its place
				in.Set(me, v)
			}
		default:
			var all []string
			for key := range b.byWeight.Ascend(in, mvcc.From(heavyFrom)) {
				all = append(all, key)
			}
			if len(all) < heavy {
				v.Weight = heavyFrom + pick%10
				in.Set(me, v)
			} else {
				key := all[pick%len(all)]
				v, _ := in.Get(key)
				v.Weight = pick % heavyFrom
				in.Set(key, v)
			}
		}
		return nil
	})
	time.Sleep(time.Duration(w.r.IntN(5)) * time.Millisecond)
}
