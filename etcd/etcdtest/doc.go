// Package etcdtest starts etcd clusters on this machine, for tests and examples of package etcd: each
// member is a process of its own, which is this program once more, so that it can be killed.
package etcdtest
