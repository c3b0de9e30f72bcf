// Package oracle has tests alone: random programs over a database of several tables, with order
// and indexes, beside a model of Go maps. The programs over one map are in package mvcc.
package oracle
