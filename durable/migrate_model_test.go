package durable_test

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/mvccmap/mvccmap/durable"
	"github.com/mvccmap/mvccmap/internal/seam/door"
	"github.com/mvccmap/mvccmap/mvcc"
)

// A program of before has users by number, guests by name, and notes. Now people are by mail, merged
// of both, and those who came from users are changed once more; who is old is in a table of its own;
// notes have a field that was renamed, and then another type, in two steps.
type (
	userBefore struct {
		Name, Mail string
		Old        bool
	}
	personMoved struct{ Called, From string }
	person      struct{ Name, From string }

	noteBefore  struct{ Text string }
	noteRenamed struct{ Line string }
	noteBetween struct{ Words []string }
	noteNow     struct{ Count int }
)

// leftOut is the name of users who do not become people.
const leftOut = "8"

func migratedPeople() []durable.Migration {
	return []durable.Migration{
		durable.MigrateTo("users", "people", func(n int, u userBefore) (string, personMoved, error) {
			return u.Mail, personMoved{u.Name, fmt.Sprint(n)}, nil
		}),
		durable.Migrate("people", func(_ string, p personMoved) (person, error) {
			if p.Called == leftOut {
				return person{}, durable.ErrDrop
			}
			return person{p.Called, p.From}, nil
		}),
		durable.MigrateTo("users", "old", func(n int, u userBefore) (int, bool, error) {
			if !u.Old {
				return 0, false, durable.ErrDrop
			}
			return n, true, nil
		}),
		durable.MigrateTo("guests", "people", func(name, mail string) (string, person, error) {
			return mail, person{name, "guest"}, nil
		}),
		durable.RenameFields("notes", map[string]string{"Text": "Line"}),
		durable.Migrate("notes", func(_ int, n noteRenamed) (noteBetween, error) {
			return noteBetween{[]string{n.Line}}, nil
		}),
		durable.Migrate("notes", func(key int, n noteBetween) (noteNow, error) {
			if n.Words[0] == "" {
				return noteNow{}, durable.ErrDrop
			}
			return noteNow{len(n.Words[0])}, nil
		}),
	}
}

// A peopleBefore is the database of the program of before, with its contents as they should be now.
type peopleBefore struct {
	db     *mvcc.DB
	users  *mvcc.Map[int, userBefore]
	guests *mvcc.Map[string, string]
	notes  *mvcc.Map[int, noteBefore]
	mails  int
}

type peopleNow struct {
	People map[string]person
	Old    map[int]bool
	Notes  map[int]noteNow
}

func newPeopleBefore(t *testing.T) *peopleBefore {
	p := &peopleBefore{db: mvcc.NewDB(nil)}
	t.Cleanup(p.db.Close)
	p.users = mvcc.NewTable[int, userBefore](p.db, "users", nil)
	p.guests = mvcc.NewTable[string, string](p.db, "guests", nil)
	p.notes = mvcc.NewTable[int, noteBefore](p.db, "notes", nil)
	return p
}

func (p *peopleBefore) now() peopleNow {
	n := peopleNow{map[string]person{}, map[int]bool{}, map[int]noteNow{}}
	for k, u := range p.users.All() {
		if u.Name != leftOut {
			n.People[u.Mail] = person{u.Name, fmt.Sprint(k)}
		}
		if u.Old {
			n.Old[k] = true
		}
	}
	for name, mail := range p.guests.All() {
		n.People[mail] = person{name, "guest"}
	}
	for k, note := range p.notes.All() {
		if note.Text != "" {
			n.Notes[k] = noteNow{len(note.Text)}
		}
	}
	return n
}

// change does something with some users, in one transaction; mails stay unique.
func (p *peopleBefore) change(t *testing.T, r *rand.Rand) {
	a, b := r.IntN(8), r.IntN(8)
	guest := fmt.Sprint("guest", r.IntN(4))
	fresh := func() string { p.mails++; return fmt.Sprint("mail", p.mails) }
	user := func(mail string) userBefore { return userBefore{fmt.Sprint(r.IntN(9)), mail, r.IntN(2) == 0} }
	if r.IntN(40) == 0 {
		p.users.Close()
		p.users = mvcc.NewTable[int, userBefore](p.db, "users", nil)
	}
	what := r.IntN(8)
	require.NoError(t, p.db.Update(t.Context(), nil, func(tx mvcc.DBTx) error {
		users, guests, notes := p.users.In(tx), p.guests.In(tx), p.notes.In(tx)
		ua, hasA := users.Get(a)
		ub, hasB := users.Get(b)
		mail, hasGuest := guests.Get(guest)
		switch what {
		case 0:
			users.Set(a, user(fresh()))
		case 1:
			users.Delete(a)
		case 2: // they swap mails
			if hasA && hasB && a != b {
				users.Set(a, user(ub.Mail))
				users.Set(b, user(ua.Mail))
			}
		case 3: // b gets the mail of a
			if hasA && a != b {
				users.Set(b, user(ua.Mail))
				users.Delete(a)
			}
		case 4: // a guest becomes a user
			if hasGuest {
				guests.Delete(guest)
				users.Set(a, user(mail))
			}
		case 5: // a user becomes a guest
			if hasA {
				guests.Set(guest, ua.Mail)
				users.Delete(a)
			}
		case 6:
			guests.Set(guest, fresh())
		case 7:
			notes.Set(a, noteBefore{guest[:r.IntN(3)]})
			notes.Delete(b)
		}
		return nil
	}))
}

// A backup and then differences, migrated, are the same as a migrated backup of the end: whatever
// was deleted, overwritten, given another key, or closed.
func TestMigratedDifferences(t *testing.T) {
	for seed := range uint64(60) {
		c := codecs[seed%2]
		r := rand.New(rand.NewPCG(seed, 1))
		p := newPeopleBefore(t)
		for range r.IntN(30) {
			p.change(t, r)
		}
		to := newDB(t)
		people := mvcc.NewTable[string, person](to, "people", nil)
		old := mvcc.NewTable[int, bool](to, "old", nil)
		notes := mvcc.NewTable[int, noteNow](to, "notes", nil)
		people.Store("nobody", person{}) // it goes
		opts := &durable.LoadOptions{Migrate: migratedPeople()}
		check := func() {
			got := peopleNow{maps.Collect(people.All()), maps.Collect(old.All()), maps.Collect(notes.All())}
			require.Empty(t, cmp.Diff(p.now(), got), "seed %d", seed)
		}

		var data bytes.Buffer
		s := p.db.Snapshot()
		next, stop := iter.Pull2(p.db.Watch(t.Context(), &mvcc.DBWatchOptions{Since: s, Progress: true}))
		defer stop()
		saved, err := durable.Save(t.Context(), p.db, &data, c, &durable.SaveOptions{Of: s})
		require.NoError(t, err)
		defer s.Close()
		loaded, err := durable.Load(t.Context(), to, &data, c, opts)
		require.NoError(t, err)
		check()

		then := &durable.LoadOptions{Migrate: migratedPeople()}
		full := saved
		for range 4 {
			for range 1 + r.IntN(8) {
				p.change(t, r)
			}
			saved, err = durable.SaveCommits(t.Context(), p.db, &data, c, saved,
				commitsOf(t, p.db, next), nil)
			require.NoError(t, err)
			then.Then = append(then.Then, bytes.NewReader(bytes.Clone(data.Bytes())))
			loaded, err = durable.LoadCommits(t.Context(), to, &data, c, loaded, opts)
			require.NoError(t, err)
			check()
		}

		// All of it at once; and the differences from the beginning.
		var first, since bytes.Buffer
		_, err = durable.Save(t.Context(), p.db, &first, c, &durable.SaveOptions{Of: s})
		require.NoError(t, err)
		last, err := durable.Save(t.Context(), p.db, &since, c, &durable.SaveOptions{Since: s})
		require.NoError(t, err)
		_, err = durable.Load(t.Context(), to, bytes.NewReader(first.Bytes()), c, then)
		require.NoError(t, err)
		check()
		opts.Then = append(opts.Then, &since)
		again, err := durable.Load(t.Context(), to, &first, c, opts)
		require.NoError(t, err)
		require.Equal(t, last.Epoch, again.Epoch)
		require.Less(t, full.Epoch, again.Epoch)
		require.Subset(t, []string{"guests", "notes", "users"}, again.Migrated())
		check()
	}
}

// commitsOf returns the commits until now.
func commitsOf(
	t *testing.T, db *mvcc.DB, next func() (mvcc.DBCommit, error, bool),
) (list []mvcc.DBCommit) {
	end := db.Epoch()
	door.Of(db).RequestProgress()
	for {
		c, err, _ := next()
		require.NoError(t, err)
		if list = append(list, c); c.Progress {
			if c.Epoch >= end {
				return list
			}
			door.Of(db).RequestProgress()
		}
	}
}
