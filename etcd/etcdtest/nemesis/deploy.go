package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mvccmap/mvccmap/etcd"
	"github.com/mvccmap/mvccmap/mvcc"
)

// Faults of those who run clients and servers.

// changePassword gives the user of the clients another password. Until etcd has it some of them are refused.
func (r *round) changePassword() error {
	if err := r.commitsOfEach(20, "after the password changed"); err != nil { // or some are not opened
		return err
	}
	password, file := fmt.Sprint(r.rand.Uint64()), passwordFile(r.secrets)
	err := cmp.Or(os.WriteFile(file+".new", []byte(password), 0o600), os.Rename(file+".new", file))
	if err != nil {
		return err
	}
	if r.rand.IntN(2) == 0 {
		r.net.Break(-1 - r.rand.IntN(clients))
	}
	if err := r.withClient(func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.UserChangePassword(ctx, user, password)
		return err
	}); err != nil {
		return err
	}
	return r.wait(r.between(0, time.Second))
}

func (r *round) killProxy() error {
	i := r.rand.IntN(2)
	if err := r.front.Kill(i); err != nil {
		return err
	}
	if err := cmp.Or(r.settle("after a proxy was killed", time.Second), r.front.Run(i)); err != nil {
		return err
	}
	return r.wait(r.between(0, time.Second)) // maybe the other one is killed before this one serves
}

// writeBeside writes and deletes records of databases whose prefixes come right before and after that of
// the clients, and keys that belong to none, compacts, and has another replica find what was written.
func (r *round) writeBeside() error {
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	a := r.access(r.cluster.Endpoints())
	for _, a.Prefix = range []string{prefix + "a/", prefix + "t/stamps/", prefix + "new/"} {
		r.refuses(a, "Config.Prefix")
	}
	for _, a.Prefix = range []string{"nemesi/", "nemesis2/", "nemesis.a/"} {
		if err := r.fillBeside(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// refuses has a violation unless a replica cannot be opened, and the error says why.
func (r *round) refuses(a access, why string) {
	db, err := open(r.ctx, a, time.Second)
	if err == nil {
		err = db.Close()
	}
	if !strings.Contains(fmt.Sprint(err), why) {
		r.wrong("program %d was not refused at %q: %v", a.Program, a.Prefix, err)
	}
}

func (r *round) fillBeside(ctx context.Context, a access) error {
	db, err := open(ctx, a, time.Second)
	if err != nil {
		return err
	}
	defer db.Close()
	want := r.beside[a.Prefix]
	if want == nil {
		want = map[int]int{}
		r.beside[a.Prefix] = want
	}
	for range 50 {
		key, n := r.rand.IntN(20), r.rand.IntN(1000)
		err := db.Update(ctx, nil, func(tx mvcc.DBTx) error {
			db.leases.In(tx).Set(fmt.Sprint(key), lease{Owner: -1}) // none in view of the clients
			if n%3 == 0 {
				db.stamps.In(tx).Delete(key)
			} else {
				db.stamps.In(tx).Set(key, n)
			}
			return nil
		})
		done := err == nil
		if slow := (*etcd.UnknownError)(nil); errors.As(err, &slow) {
			done, err = slow.Wait(ctx)
		}
		switch {
		case err != nil && !errors.Is(err, etcd.ErrUnanswered):
			return fmt.Errorf("beside: %w", err)
		case done && n%3 == 0:
			delete(want, key)
		case done:
			want[key] = n
		}
	}
	if err := r.withClient(func(ctx context.Context, client *clientv3.Client) error {
		for _, key := range []string{"nemesis", "nemesis.", "nemesis0"} { // a slash is between the last two
			if _, err := client.Put(ctx, key, "{}"); err != nil {
				return err
			}
		}
		return compactAll(ctx, client)
	}); err != nil {
		return err
	}
	other, err := open(ctx, a, time.Second)
	if err != nil {
		return err
	}
	defer other.Close()
	if _, err := db.Sync(ctx); err != nil {
		return err
	}
	for _, one := range []*replica{db, other} {
		if has := maps.Collect(one.stamps.All()); !maps.Equal(has, want) || one.lists.Len() > 0 {
			r.wrong("%q has %v and %d lists, want %v and none", a.Prefix, has, one.lists.Len(), want)
		}
	}
	return nil
}

// mayOpen reports whether the next program may be opened: most is the program whose fields each must have,
// and wider that with most fields that was opened beside older ones.
func (r *round) mayOpen() bool {
	if r.program < r.most || r.program > r.most && r.program < r.wider {
		return false
	}
	if r.wider = max(r.wider, r.program); !r.rolling {
		r.most = r.program
	}
	return true
}

// changeProgram has another program take the place of a client, or Open refuse it.
func (r *round) changeProgram() error {
	r.program, r.rolling = r.rand.IntN(min(newest, r.wider+1)+1), r.rand.IntN(8) > 0 // one after the other
	if !r.mayOpen() {
		r.refuses(r.access(r.cluster.Endpoints()), "see TableOptions.AnyShape and Config.Rolling")
		return nil
	}
	i := r.rand.IntN(clients)
	r.kill(i)
	if err := r.run(i); err != nil {
		return err
	}
	return r.commitsOfEach(20, "after a program was opened")
}
