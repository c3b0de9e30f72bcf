// Package etcd keeps the tables of a database in an etcd cluster, for several processes: each of
// them has all tables in its memory, as an [mvcc.DB] that follows the commits of the cluster. A
// transaction reads there at the speed of memory, as of one moment, and is committed in etcd, in
// one request, if nothing that it has read was written meanwhile by any process.
//
//	schema := etcd.NewSchema(nil)
//	accounts := etcd.NewTable[string, Account](schema, "accounts", nil)
//	db, err := etcd.Open(ctx, etcd.Config{
//		Client: clientv3.Config{Endpoints: endpoints},
//		Prefix: "bank/",
//		Schema: schema,
//	})
//	...
//	err = db.Update(ctx, nil, func(tx mvcc.DBTx) error {
//		in := accounts.In(tx)
//		from, _ := in.Get("alice")
//		...
//		in.Set("alice", from)
//		return nil
//	})
//
// Its promises:
//
//   - Transactions that write are strictly serializable over all processes, whatever a process has
//     read from: see [DB.Update].
//   - A [DB.View] sees the state after some commit, all of it, and never goes back. It may be
//     behind other processes; [DB.Sync] and [DB.WaitFor] wait until it is not. It works without
//     etcd.
//   - After Update the process sees its own writes.
//   - Update returns the outcome of a transaction, also if a connection breaks, once; or
//     [ErrOutcomeUnknown], if etcd cannot be asked for a long time.
//   - Epochs are revisions of etcd.
//
// Records expire, see [Table.Expire]. docs/scale-out.md says when to use it, how to run the
// servers, how failures look, and how to change the program while others run.
package etcd
